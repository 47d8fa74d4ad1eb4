/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * msg.c - messages between worker and controller, one a packet (SOCK_SEQPACKET).
 */
#include <config.h>

#include "iohelper/worker.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control
{
  struct cmsghdr header;
  char space[CMSG_SPACE (sizeof (int))];
};

int
ioh_msg_send (int sock, enum ioh_msg_type type, uint64_t value, int fd)
{
  struct ioh_msg msg = { .type = type, .value = value };
  struct iovec iov = { &msg, sizeof msg };
  union control control;
  struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };

  if (fd >= 0)
    {
      memset (&control, 0, sizeof control);
      header.msg_control = control.space;
      header.msg_controllen = sizeof control.space;
      struct cmsghdr *c = CMSG_FIRSTHDR (&header);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN (sizeof fd);
      memcpy (CMSG_DATA (c), &fd, sizeof fd);
    }
  while (sendmsg (sock, &header, MSG_NOSIGNAL) < 0)
    if (errno != EINTR)
      return -errno;
  return 0;
}

int
ioh_msg_receive (int sock, struct ioh_msg *msg, int *fd, bool block)
{
  struct iovec iov = { msg, sizeof *msg };
  union control control;
  struct msghdr header = { .msg_iov = &iov,
                           .msg_iovlen = 1,
                           .msg_control = control.space,
                           .msg_controllen = sizeof control.space };
  ssize_t n = recvmsg (sock, &header, MSG_CMSG_CLOEXEC | (block ? 0 : MSG_DONTWAIT));

  *fd = -1;
  if (n < 0)
    return errno == ECONNRESET ? -ENOTCONN : -errno;
  if (n == 0)
    return -ENOTCONN;
  if (n != sizeof *msg)
    return -EPROTO;
  struct cmsghdr *c = CMSG_FIRSTHDR (&header);
  if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
    memcpy (fd, CMSG_DATA (c), sizeof *fd);
  return 0;
}
