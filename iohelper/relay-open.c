/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * relay-open.c - opens both ends of a relay and refuses what cannot work,
 * before anything is touched.
 */
#include <config.h>

#include "iohelper/relay.h"

#include "iohelper/cachemode.h"
#include "iohelper/io.h"
#include "iohelper/launch.h"
#include "iohelper/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
tell_ready (void *relay)
{
  struct ioh_relay *r = relay;

  if (!r->ready)
    (void) ioh_worker_tell (r->worker, IOH_MSG_READY, 0, -1);
  r->ready = true;
}

static int
announce_temp (void *relay, int dir_fd)
{
  struct ioh_relay *r = relay;

  return ioh_worker_tell (r->worker, IOH_MSG_TEMP, 0, dir_fd);
}

static int
refuse (struct ioh_relay *r, struct ioh_endpoint *ep, const char *what)
{
  char quoted[512];

  ioh_failure_text (&r->report->failure, IOH_USAGE, ep->end, "using", IOH_NO_OFFSET, "%s %s",
                    ioh_quote (quoted, sizeof quoted, ep->name), what);
  return -1;
}

/* ---- FILE ----------------------------------------------------------------------- */

static void
init_target (struct ioh_relay *r)
{
  r->target = (struct ioh_target) {
    .job = r->job,
    .failure = &r->report->failure,
    .path = { .dir_fd = -1, .file_fd = -1 },
    .fd = -1,
    .temp_name = r->worker->shared->temp_name,
    .temp_size = sizeof r->worker->shared->temp_name,
    .announce = announce_temp,
    .announce_ctx = r,
    .will_block = tell_ready,
    .will_block_ctx = r,
  };
}

static int
connect_to (const char *file)
{
  struct ioh_path path = { .dir_fd = -1 };
  int fd;

  path.file_fd = ioh_open (file, O_PATH, 0);
  if (path.file_fd < 0)
    return path.file_fd;
  fd = ioh_path_connect (&path);
  ioh_path_close (&path);
  return fd;
}

static int
open_for_restore (struct ioh_relay *r)
{
  const char *file = r->job->file, *hint = NULL;
  struct stat st;
  int fd;

  if (stat (file, &st) == 0 && S_ISFIFO (st.st_mode))
    tell_ready (r);
  fd = ioh_open (file, O_RDONLY | O_NOCTTY | (r->job->no_follow ? O_NOFOLLOW : 0), 0);
  if (fd == -ENXIO)
    fd = connect_to (file); /* what open(2) says of a socket */
  if (fd == -ELOOP && r->job->no_follow)
    hint = "it is a symbolic link, and --no-follow was given";
  if (fd < 0)
    ioh_failure_opening (&r->report->failure, IOH_END_SOURCE, "opening", file, -fd, hint);
  return fd;
}

static int
open_2011 (struct ioh_relay *r)
{
  const struct ioh_open_2011 *how = &r->job->open_2011;
  int fd = ioh_open (r->job->file, how->flags | O_NOCTTY, how->mode);

  if (fd == -EINVAL && (how->flags & O_DIRECT))
    fd = ioh_open (r->job->file, (how->flags & ~O_DIRECT) | O_NOCTTY, how->mode);
  if (fd < 0)
    ioh_failure_opening (&r->report->failure, r->job->direction == IOH_SAVE
                                                ? IOH_END_DESTINATION : IOH_END_SOURCE,
                         "opening", r->job->file, -fd, NULL);
  return fd;
}

static int
open_file (struct ioh_relay *r, bool *ours)
{
  bool save = r->job->direction == IOH_SAVE;

  *ours = false;
  if (r->job->file_fd >= 0)
    return r->job->file_fd;
  if (ioh_job_handed (r->job))
    return save ? STDOUT_FILENO : STDIN_FILENO;
  *ours = true;
  if (r->job->open_2011.used)
    return open_2011 (r);
  if (!save)
    return open_for_restore (r);
  return ioh_target_open (&r->target) < 0 ? -1 : r->target.fd;
}

/* ---- checks ---------------------------------------------------------------------- */

static int
check_terminal (struct ioh_relay *r, struct ioh_endpoint *ep)
{
  if (ep->kind != IOH_KIND_TTY || r->job->allow_tty)
    return 0;
  return refuse (r, ep, "is a terminal; redirect it, or give --allow-tty");
}

static int
check_distinct (struct ioh_relay *r)
{
  struct stat a, b;

  if (!ioh_endpoint_is_storage (&r->source_ep) || !ioh_endpoint_is_storage (&r->sink_ep)
      || fstat (r->source_ep.fd, &a) < 0 || fstat (r->sink_ep.fd, &b) < 0)
    return 0;
  if (S_ISBLK (a.st_mode) ? S_ISBLK (b.st_mode) && a.st_rdev == b.st_rdev
                          : a.st_dev == b.st_dev && a.st_ino == b.st_ino)
    return refuse (r, &r->sink_ep, "is both source and destination");
  return 0;
}

static int
apply_offset (struct ioh_relay *r)
{
  struct ioh_endpoint *ep = r->file_ep;
  uint64_t offset = r->job->offset;
  bool may_grow = ep->end == IOH_END_DESTINATION && ep->kind == IOH_KIND_REGULAR;
  char what[80];

  if (offset == IOH_UNSET)
    return 0;
  if (!ioh_endpoint_is_storage (ep))
    return refuse (r, ep, "has no offsets; leave out --offset");
  if (offset > INT64_MAX - ep->off)
    return refuse (r, ep, "cannot be that large; give a smaller --offset");
  if (!may_grow && offset > ep->size)
    {
      snprintf (what, sizeof what, "ends at %llu, before --offset=%llu",
                (unsigned long long) ep->size, (unsigned long long) offset);
      return refuse (r, ep, what);
    }
  if (!ep->positional && lseek (ep->fd, (off_t) offset, SEEK_CUR) < 0)
    {
      ioh_failure_opening (&r->report->failure, ep->end, "seeking in", ep->name, errno, NULL);
      return -1;
    }
  ep->off += offset;
  ep->start = ep->off;
  return 0;
}

/* Known beforehand to end otherwise than agreed: not a byte is moved. */
static int
check_sizes (struct ioh_relay *r)
{
  const struct ioh_job *job = r->job;
  struct ioh_endpoint *ep = r->file_ep;
  uint64_t room = ep->size > ep->off ? ep->size - ep->off : 0, need = job->expect_length;
  char what[120];

  if (job->direction == IOH_SAVE && ep->kind == IOH_KIND_BLOCK)
    {
      if (need == IOH_UNSET)
        need = job->size;
      if (need == IOH_UNSET || need <= room)
        return 0;
      snprintf (what, sizeof what, "has room for %llu bytes, and %llu are to come",
                (unsigned long long) room, (unsigned long long) need);
      return refuse (r, ep, what);
    }
  if (job->direction == IOH_RESTORE && ep->kind == IOH_KIND_REGULAR && need != IOH_UNSET)
    {
      if (job->length < room)
        room = job->length;
      if (room != need)
        {
          char quoted[512];
          ioh_failure_text (&r->report->failure, room < need ? IOH_TRUNCATED : IOH_TOO_LONG,
                            ep->end, "reading", IOH_NO_OFFSET,
                            "%s would give %llu bytes, not the %llu of --expect-length",
                            ioh_quote (quoted, sizeof quoted, ep->name),
                            (unsigned long long) room, (unsigned long long) need);
          return -1;
        }
    }
  return 0;
}

/* ---- cache modes -------------------------------------------------------------------- */

static int
set_up_ends (struct ioh_relay *r)
{
  const struct ioh_job *job = r->job;
  bool save = job->direction == IOH_SAVE, demand;
  bool cut = save && job->in_place && job->offset == IOH_UNSET
             && r->file_ep->kind == IOH_KIND_REGULAR && r->file_ep->ours;
  int file_mode = ioh_cachemode_choose (job, r->file_ep, r->report);
  int stream_mode = r->stream_ep->direct ? IOH_CACHE_DIRECT : IOH_CACHE_KEEP;

  if (file_mode < 0)
    return -1;
  demand = job->cache == IOH_CACHE_DIRECT;
  ioh_source_init (&r->source, &r->source_ep, r->report, save ? stream_mode : file_mode,
                   !save && file_mode == IOH_CACHE_DIRECT && job->cache == IOH_CACHE_AUTO
                     && job->mode != IOH_MODE_LIBVIRT,
                   !save && demand);
  ioh_sink_init (&r->sink, &r->sink_ep, r->report, save ? file_mode : stream_mode,
                 save && demand, cut);
  return 0;
}

int
ioh_relay_open (struct ioh_relay *r)
{
  bool save = r->job->direction == IOH_SAVE, ours;
  struct ioh_failure *f = &r->report->failure;
  const char *file_name = r->job->file;
  int fd;

  init_target (r);
  fd = open_file (r, &ours);
  ioh_launch_drop_standard_fds (r->job);
  if (fd < 0)
    return -1;
  if (file_name[0] == '-' && file_name[1] == '\0')
    file_name = save ? "stdout" : "stdin";
  r->file_ep = save ? &r->sink_ep : &r->source_ep;
  r->stream_ep = save ? &r->source_ep : &r->sink_ep;
  if (ioh_endpoint_adopt (r->file_ep, fd, ours, save ? IOH_END_DESTINATION : IOH_END_SOURCE,
                          save ? O_WRONLY : O_RDONLY, file_name, f) < 0
      || ioh_endpoint_adopt (r->stream_ep, save ? STDIN_FILENO : STDOUT_FILENO, false,
                             save ? IOH_END_SOURCE : IOH_END_DESTINATION,
                             save ? O_RDONLY : O_WRONLY, save ? "stdin" : "stdout", f) < 0)
    return -1;
  if (check_terminal (r, &r->source_ep) < 0 || check_terminal (r, &r->sink_ep) < 0
      || check_distinct (r) < 0 || apply_offset (r) < 0 || check_sizes (r) < 0
      || set_up_ends (r) < 0)
    return -1;
  r->report->pipe_size = ioh_pipe_grow (r->stream_ep->fd);
  (void) ioh_pipe_grow (r->file_ep->fd);
  tell_ready (r);
  return 0;
}
