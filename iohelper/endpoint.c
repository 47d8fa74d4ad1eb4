/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * endpoint.c - classifies a descriptor and learns its alignment.
 */
#include <config.h>

#include "iohelper/endpoint.h"

#include "iohelper/io.h"
#include "iohelper/tunables.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

const char *
ioh_kind_name (enum ioh_kind kind)
{
  switch (kind)
    {
    case IOH_KIND_REGULAR:
      return "a regular file";
    case IOH_KIND_BLOCK:
      return "a block device";
    case IOH_KIND_PIPE:
      return "a pipe";
    case IOH_KIND_SOCKET:
      return "a socket";
    case IOH_KIND_TTY:
      return "a terminal";
    case IOH_KIND_CHAR:
      return "a character device";
    case IOH_KIND_OTHER:
      break;
    }
  return "an unknown kind of file";
}

static enum ioh_kind
kind_of (int fd, mode_t mode)
{
  if (S_ISREG (mode))
    return IOH_KIND_REGULAR;
  if (S_ISBLK (mode))
    return IOH_KIND_BLOCK;
  if (S_ISFIFO (mode))
    return IOH_KIND_PIPE;
  if (S_ISSOCK (mode))
    return IOH_KIND_SOCKET;
  if (S_ISCHR (mode))
    return isatty (fd) ? IOH_KIND_TTY : IOH_KIND_CHAR;
  return IOH_KIND_OTHER;
}

static bool
is_byte_stream (int fd)
{
  int type = 0;
  socklen_t len = sizeof type;

  return getsockopt (fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* statx since 6.1, for block devices since 6.2; before that a block device's
 * logical sector size is its alignment. */
static void
learn_alignment (struct ioh_endpoint *ep)
{
  int sector;

  ep->dio_mem_align = ep->dio_off_align = IOH_DIRECT_ALIGN;
#ifdef HAVE_STRUCT_STATX_STX_DIO_OFFSET_ALIGN
  struct statx sx;

  if (statx (ep->fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &sx) == 0
      && (sx.stx_mask & STATX_DIOALIGN))
    {
      ep->dio_refused = sx.stx_dio_offset_align == 0;
      if (!ep->dio_refused)
        {
          ep->dio_mem_align = sx.stx_dio_mem_align;
          ep->dio_off_align = sx.stx_dio_offset_align;
        }
      return;
    }
#endif
  if (ep->kind == IOH_KIND_BLOCK && ioctl (ep->fd, BLKSSZGET, &sector) == 0 && sector >= 512)
    ep->dio_off_align = (uint32_t) sector;
}

static int
learn_position (struct ioh_endpoint *ep, const struct stat *st, int flags, int access)
{
  uint64_t capacity;
  off_t at = lseek (ep->fd, 0, SEEK_CUR);

  if (at < 0)
    return -errno;
  ep->size = (uint64_t) st->st_size;
  if (ep->kind == IOH_KIND_BLOCK)
    {
      if (ioctl (ep->fd, BLKGETSIZE64, &capacity) < 0)
        return -errno;
      ep->size = capacity;
    }
  /* Appending ignores the position: the first byte goes to the end. */
  ep->start = ep->off
    = (access == O_WRONLY && (flags & O_APPEND)) ? ep->size : (uint64_t) at;
  return 0;
}

int
ioh_endpoint_adopt (struct ioh_endpoint *ep, int fd, bool ours, enum ioh_end end, int access,
                    const char *name, struct ioh_failure *f)
{
  struct stat st;
  int flags = fcntl (fd, F_GETFL), r = 0;

  memset (ep, 0, sizeof *ep);
  ep->fd = fd;
  ep->ours = ours;
  ep->end = end;
  ep->name = name;
  if (flags < 0 || (flags & O_PATH))
    r = -EBADF;
  else if (fstat (fd, &st) < 0)
    r = -errno;
  if (r < 0)
    {
      ioh_failure_opening (f, end, "using", name, -r, "the descriptor is not open");
      return -1;
    }
  if ((flags & O_ACCMODE) != O_RDWR && (flags & O_ACCMODE) != access)
    {
      ioh_failure_opening (f, end, "using", name, EBADF,
                           access == O_RDONLY ? "the descriptor is not open for reading"
                                              : "the descriptor is not open for writing");
      return -1;
    }
  if (S_ISDIR (st.st_mode))
    {
      ioh_failure_opening (f, end, "using", name, EISDIR, "give the name of a file");
      return -1;
    }
  ep->kind = kind_of (fd, st.st_mode);
  if (ep->kind == IOH_KIND_SOCKET && !is_byte_stream (fd))
    {
      ioh_failure_opening (f, end, "using", name, EPROTOTYPE,
                           "messages have borders, and what does not fit would be lost");
      return -1;
    }
  ep->block_size = (uint32_t) st.st_blksize;
  ep->positional = ours && ioh_endpoint_is_storage (ep);
  if (ioh_endpoint_is_storage (ep))
    {
      /* On a pipe the same flag means packet mode, which is not ours to touch. */
      ep->direct = ep->was_direct = (flags & O_DIRECT) != 0;
      learn_alignment (ep);
      r = learn_position (ep, &st, flags, access);
    }
  if (r < 0)
    {
      ioh_failure_opening (f, end, "using", name, -r, NULL);
      return -1;
    }
  return 0;
}

int
ioh_endpoint_set_direct (struct ioh_endpoint *ep, bool on)
{
  int r;

  if (ep->direct == on)
    return 0;
  r = ioh_set_direct (ep->fd, on);
  if (r == 0)
    ep->direct = on;
  return r;
}

void
ioh_endpoint_give_back (struct ioh_endpoint *ep)
{
  if (ep->fd < 0 || ep->ours)
    return;
  (void) ioh_endpoint_set_direct (ep, ep->was_direct);
}
