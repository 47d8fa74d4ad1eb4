/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * pipe.c - F_SETPIPE_SZ with everything that can stand in its way.
 */
#include <config.h>

#include "iohelper/pipe.h"

#include "iohelper/tunables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int
system_limit (void)
{
  char text[24];
  ssize_t n = -1;
  int fd = open ("/proc/sys/fs/pipe-max-size", O_RDONLY | O_CLOEXEC);

  if (fd >= 0)
    {
      n = read (fd, text, sizeof text - 1);
      close (fd);
    }
  if (n > 0)
    {
      text[n] = '\0';
      long value = strtol (text, NULL, 10);
      if (value >= 4096 && value <= INT32_MAX)
        return (int) value;
    }
  return IOH_PIPE_MAX_FALLBACK;
}

uint64_t
ioh_pipe_grow (int fd)
{
  int size = fcntl (fd, F_GETPIPE_SZ);

  if (size < 0)
    return 0;
  /* EPERM: beyond the limit, or the user's quota of pipe pages is used up;
   * EBUSY: more data in it than would fit (when shrinking).  Half as much may
   * still do. */
  for (int want = system_limit (); want > size; want /= 2)
    if (fcntl (fd, F_SETPIPE_SZ, want) >= 0)
      break;
  size = fcntl (fd, F_GETPIPE_SZ);
  return size < 0 ? 0 : (uint64_t) size;
}
