/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * conf.c - libvirt.conf: options for libvirt's forms, which carry none.
 *
 * libvirt relies on those forms, so nothing in this file can make one fail: a
 * file that is missing, not root's own, writable by others, or wrong somewhere
 * leaves the defaults, and what is wrong is one line in the system log.
 */
#include <config.h>

#include "iohelper/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define CONF_FILE IOH_SYSCONFDIR "/iohelper/libvirt.conf"
#define CONF_MAX 16384 /* bytes */

static char text[CONF_MAX + 1]; /* the job's texts point into it */

static void
complain (const char *what)
{
  openlog ("iohelper", LOG_PID, LOG_DAEMON);
  syslog (LOG_WARNING, "%s: %s; the file is ignored", CONF_FILE, what);
  closelog ();
}

static char *
trim (char *line)
{
  char *end;

  line += strspn (line, " \t\r");
  end = line + strlen (line);
  while (end > line && strchr (" \t\r", end[-1]))
    *--end = '\0';
  return line;
}

/* "name=value"; texts stay where they are. */
static bool
take_line (struct ioh_job *job, char *line, char error[IOH_OPTION_ERROR_MAX])
{
  char *equals = strchr (line, '='), *name, *value;
  const struct ioh_option *o;

  if (!equals)
    {
      snprintf (error, IOH_OPTION_ERROR_MAX, "'%.100s' is not of the form option=value", line);
      return false;
    }
  *equals = '\0';
  name = trim (line);
  value = trim (equals + 1);
  o = ioh_option_find (name, strlen (name), IOH_FORM_CONF, error);
  return o && ioh_option_set (job, o, value, error);
}

static void
apply (struct ioh_job *job)
{
  struct ioh_job changed = *job;
  char error[IOH_OPTION_ERROR_MAX], *next;

  for (char *line = text; line; line = next)
    {
      next = strchr (line, '\n');
      if (next)
        *next++ = '\0';
      line = trim (line);
      if (*line == '\0' || *line == '#')
        continue;
      if (!take_line (&changed, line, error))
        {
          complain (error);
          return;
        }
    }
  *job = changed;
}

void
ioh_read_conf (struct ioh_job *job)
{
  int fd = open (CONF_FILE, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat st;
  ssize_t n;

  if (fd < 0)
    {
      if (errno != ENOENT && errno != ENOTDIR)
        complain (strerror (errno));
      return;
    }
  if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
    complain ("not a regular file");
  else if (st.st_uid != 0 || (st.st_mode & 022))
    complain ("it must belong to root and be writable by nobody else");
  else if ((n = read (fd, text, sizeof text)) < 0)
    complain (strerror (errno));
  else if (n > CONF_MAX)
    complain ("it is too long");
  else
    {
      text[n] = '\0';
      apply (job);
    }
  close (fd);
}
