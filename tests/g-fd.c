/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * g-fd.c - whole reads and writes on descriptors, whatever the kernel gives.
 */
#include <config.h>

#include "tests/g-common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Three pieces of 4 MiB, and odd; with G_FD_SMALL in the environment, a size for
 * runs in which a call moves next to nothing. */
#define MEDIUM (small ? (gsize) 30001 : (gsize) 1 << 20 | 1)
#define BIG (small ? (gsize) 50001 : (gsize) 9 << 20 | 4097)

static GError *error;
static gboolean small;

static int
memory_file (void)
{
  int fd = memfd_create ("g-fd", MFD_CLOEXEC);

  if (fd < 0)
    bail_out ("memfd_create: %s", g_strerror (errno));
  return fd;
}

/* ---- a peer that takes or gives in bits of its own size -------------------------- */

struct peer
{
  int fd;
  gsize bit;      /* bytes a call */
  gsize count;
  guint8 *data;
  gboolean reads;
};

static gpointer
peer_main (gpointer data)
{
  struct peer *p = data;
  gsize done = 0;

  while (done < p->count)
    {
      gsize len = MIN (p->bit, p->count - done);
      ssize_t n = p->reads ? read (p->fd, p->data + done, len) : write (p->fd, p->data + done, len);

      if (n <= 0 && !(n < 0 && errno == EINTR))
        break;
      done += n > 0 ? (gsize) n : 0;
    }
  p->count = done;
  close (p->fd);
  return NULL;
}

/* The first end is ours, non-blocking or not; the second one is the peer's. */
static void
make_pair (gboolean nonblock, int pair[2])
{
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0
      || (nonblock && fcntl (pair[0], F_SETFL, O_NONBLOCK) < 0))
    bail_out ("socketpair: %s", g_strerror (errno));
}

static void
through_a_pair (const char *what, gboolean nonblock, gsize bit, gsize count)
{
  g_autofree guint8 *sent = pattern (count, (guint) bit);
  g_autofree guint8 *got = g_malloc0 (count + 1);
  struct peer peer = { .bit = bit, .count = count, .data = got, .reads = TRUE };
  GThread *thread;
  gsize moved = 1;
  int pair[2];
  gboolean good;

  make_pair (nonblock, pair);
  peer.fd = pair[1];
  thread = g_thread_new ("peer", peer_main, &peer);
  good = iow_fd_write_all (pair[0], sent, count, &moved, NULL, &error);
  close (pair[0]);
  g_thread_join (thread);
  ok (good && moved == count && peer.count == count && memcmp (sent, got, count) == 0,
      "writing %zu bytes to %s whose reader takes %zu at a time delivers them all", count, what,
      bit);
  g_clear_error (&error);

  make_pair (nonblock, pair);
  memset (got, 0, count);
  peer = (struct peer) { .fd = pair[1], .bit = bit, .count = count, .data = sent };
  thread = g_thread_new ("peer", peer_main, &peer);
  good = iow_fd_read_full (pair[0], got, count + 1, &moved, NULL, &error);
  g_thread_join (thread);
  close (pair[0]);
  ok (good && moved == count && memcmp (sent, got, count) == 0,
      "reading %zu bytes and more from %s whose writer gives %zu at a time gets all up to the end",
      count, what, bit);
  g_clear_error (&error);
}

/* ---- signals ------------------------------------------------------------------------ */

static gint stop_pestering;

static void
on_signal (int number)
{
  (void) number;
}

static gpointer
pester (gpointer data)
{
  pthread_t *victim = data;

  while (!g_atomic_int_get (&stop_pestering))
    {
      (void) pthread_kill (*victim, SIGUSR2);
      g_usleep (300);
    }
  return NULL;
}

static void
interrupted (void)
{
  struct sigaction act = { .sa_handler = on_signal }, old;
  pthread_t self = pthread_self ();
  GThread *thread;

  sigaction (SIGUSR2, &act, &old);
  thread = g_thread_new ("pester", pester, &self);
  through_a_pair ("a socket, with a signal every third of a millisecond,", FALSE, 4095,
                  MEDIUM);
  through_a_pair ("a non-blocking socket, with signals,", TRUE, 4095, MEDIUM);
  g_atomic_int_set (&stop_pestering, 1);
  g_thread_join (thread);
  sigaction (SIGUSR2, &old, NULL);
}

static void
reader_gone (void)
{
  sigset_t mask, after, pending;
  struct sigaction before, now;
  gsize moved = 99;
  int pipe_fds[2];

  sigaction (SIGPIPE, NULL, &before);
  pthread_sigmask (SIG_SETMASK, NULL, &mask);
  if (pipe2 (pipe_fds, O_CLOEXEC) < 0)
    bail_out ("pipe2: %s", g_strerror (errno));
  close (pipe_fds[0]);
  ok (!iow_fd_write_all (pipe_fds[1], "x", 1, &moved, NULL, &error) && moved == 0,
      "writing to a pipe without a reader fails, and SIGPIPE does not kill the process");
  is_error (&error, IOW_ERROR, IOW_ERROR_CONSUMER_CLOSED, "the error says that nobody reads");
  close (pipe_fds[1]);
  sigaction (SIGPIPE, NULL, &now);
  pthread_sigmask (SIG_SETMASK, NULL, &after);
  sigpending (&pending);
  ok (now.sa_handler == before.sa_handler && same_mask (&mask, &after)
        && !sigismember (&pending, SIGPIPE),
      "after it the disposition and the mask are as before, and no SIGPIPE is pending");
}

/* ---- files ---------------------------------------------------------------------------- */

static void
files (void)
{
  g_autofree guint8 *data = pattern (BIG, 7);
  g_autofree guint8 *got = g_malloc (BIG);
  gsize moved = 0;
  int fd = memory_file ();

  ok (iow_fd_write_all (fd, data, BIG, &moved, NULL, &error) && moved == BIG,
      "writing %zu bytes to a file writes them all", BIG);
  ok (lseek (fd, 0, SEEK_SET) == 0 && iow_fd_read_full (fd, got, BIG, &moved, NULL, &error)
        && moved == BIG && memcmp (data, got, BIG) == 0,
      "reading them back gets the same bytes");
  ok (iow_fd_read_full (fd, got, 10, &moved, NULL, &error) && moved == 0,
      "reading at end of file is no error and gets nothing");
  ok (iow_fd_write_all (fd, NULL, 0, &moved, NULL, &error) && moved == 0,
      "writing nothing is no error");

  ok (ftruncate (fd, 0) == 0 && lseek (fd, 5, SEEK_SET) == 5
        && iow_fd_pwrite_all (fd, data, 100, G_GOFFSET_CONSTANT (5) << 30, &moved, NULL, &error)
        && moved == 100 && lseek (fd, 0, SEEK_CUR) == 5,
      "pwrite beyond 4 GiB writes all and leaves the descriptor's offset alone");
  ok (lseek (fd, G_GOFFSET_CONSTANT (5) << 30, SEEK_SET) > 0
        && iow_fd_read_full (fd, got, 100, &moved, NULL, &error) && moved == 100
        && memcmp (data, got, 100) == 0,
      "the bytes are where they were meant to be");
  close (fd);
}

static void
zero_is_a_descriptor (void)
{
  int saved = dup (0), fd = memory_file ();
  guint8 byte = 0;
  gsize moved;

  dup2 (fd, 0);
  ok (iow_fd_write_all (0, "z", 1, &moved, NULL, &error) && lseek (0, 0, SEEK_SET) == 0
        && iow_fd_read_full (0, &byte, 1, &moved, NULL, &error) && byte == 'z',
      "descriptor 0 is as good as any other");
  dup2 (saved, 0);
  close (saved);
  close (fd);
}

/* ---- failures --------------------------------------------------------------------------- */

static void
failures (void)
{
  struct rlimit old, limit = { 10000, RLIM_INFINITY };
  g_autofree guint8 *data = pattern (20000, 1);
  gsize moved = 1;
  int fd, full = open ("/dev/full", O_WRONLY | O_CLOEXEC);

  ok (!iow_fd_write_all (full, data, 10, &moved, NULL, &error) && moved == 0,
      "writing to a full device fails");
  is_error (&error, IOW_ERROR, IOW_ERROR_NO_SPACE, "the error says that there is no space");
  close (full);

  ok (!iow_fd_write_all (-1, data, 10, &moved, NULL, &error) && moved == 0,
      "writing to no descriptor fails");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "the error says that the request is at fault");
  fd = open ("/", O_RDONLY | O_CLOEXEC);
  ok (!iow_fd_read_full (fd, data, 10, &moved, NULL, &error) && moved == 0,
      "reading a directory fails");
  is_error (&error, IOW_ERROR, IOW_ERROR_SOURCE, "the error says that it is the source");
  close (fd);

  fd = memory_file ();
  ok (!iow_fd_write_all (fd, data, (gsize) G_MAXSSIZE + 1, &moved, NULL, &error) && moved == 0,
      "a count beyond the largest signed size is refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "as out of range");
  ok (!iow_fd_pwrite_all (fd, data, 2, G_MAXINT64 - 1, &moved, NULL, &error) && moved == 0
        && strstr (error->message, "out of range"),
      "an offset and a count that together pass 63 bits are refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "as out of range, too");
  ok (!iow_fd_pwrite_all (fd, data, 2, -1, &moved, NULL, &error)
        && strstr (error->message, "out of range"),
      "a negative offset is refused");
  is_error (&error, IOW_ERROR, IOW_ERROR_INVALID, "like them");

  /* A genuine short write, then an error. */
  signal (SIGXFSZ, SIG_IGN);
  getrlimit (RLIMIT_FSIZE, &old);
  setrlimit (RLIMIT_FSIZE, &limit);
  ok (!iow_fd_write_all (fd, data, 20000, &moved, NULL, &error) && moved == 10000,
      "a write that hits a limit reports what was written as well as the error");
  is_error (&error, IOW_ERROR, IOW_ERROR_DESTINATION, "the error says that it is the destination");
  setrlimit (RLIMIT_FSIZE, &old);
  signal (SIGXFSZ, SIG_DFL);
  close (fd);
}

/* ---- cancelling ---------------------------------------------------------------------------- */

static gpointer
cancel_soon (gpointer data)
{
  g_usleep (20000);
  g_cancellable_cancel (data);
  return NULL;
}

static void
cancelling (void)
{
  g_autoptr (GCancellable) cancellable = g_cancellable_new ();
  g_autofree guint8 *data = pattern (1 << 20, 3);
  GThread *thread;
  gsize moved = 1;
  int pipe_fds[2], held = 0;

  if (pipe2 (pipe_fds, O_CLOEXEC) < 0)
    bail_out ("pipe2: %s", g_strerror (errno));
  thread = g_thread_new ("cancel", cancel_soon, cancellable);
  ok (!iow_fd_read_full (pipe_fds[0], data, 1, &moved, cancellable, &error) && moved == 0,
      "reading an empty, blocking pipe ends when it is cancelled");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with GLib's error for it");
  g_thread_join (thread);

  g_cancellable_reset (cancellable);
  (void) fcntl (pipe_fds[1], F_SETFL, O_NONBLOCK);
  thread = g_thread_new ("cancel", cancel_soon, cancellable);
  ok (!iow_fd_write_all (pipe_fds[1], data, 1 << 20, &moved, cancellable, &error)
        && ioctl (pipe_fds[0], FIONREAD, &held) == 0 && held > 0 && moved == (gsize) held,
      "writing to a full, non-blocking pipe ends when it is cancelled, and tells how much went in");
  is_error (&error, G_IO_ERROR, G_IO_ERROR_CANCELLED, "with the same error");
  g_thread_join (thread);
  ok (!iow_fd_write_all (pipe_fds[1], data, 1, &moved, cancellable, &error) && moved == 0,
      "a call whose cancellable has been triggered does nothing");
  g_clear_error (&error);
  close (pipe_fds[0]);
  close (pipe_fds[1]);
}

static void
byte_forms (void)
{
  g_autoptr (GBytes) bytes = g_bytes_new_static ("abcdef", 6);
  g_autoptr (GBytes) got = NULL;
  gsize moved = 0;
  int fd = memory_file ();

  ok (iow_fd_write_bytes (fd, bytes, &moved, NULL, &error) && moved == 6
        && iow_fd_pwrite_bytes (fd, bytes, 3, &moved, NULL, &error) && moved == 6
        && lseek (fd, 1, SEEK_SET) == 1 && (got = iow_fd_read_bytes (fd, 100, NULL, &error)) != NULL
        && g_bytes_get_size (got) == 8 && memcmp (g_bytes_get_data (got, NULL), "bcabcdef", 8) == 0,
      "the forms for bindings write and read the same bytes");
  g_clear_error (&error);
  close (fd);
}

int
main (void)
{
  g_common_start ();
  small = g_getenv ("G_FD_SMALL") != NULL;
  through_a_pair ("a socket", FALSE, 1, 3000);
  through_a_pair ("a socket", FALSE, 777, MEDIUM);
  through_a_pair ("a socket", FALSE, 1 << 20, BIG);
  through_a_pair ("a non-blocking socket", TRUE, 777, MEDIUM);
  through_a_pair ("a non-blocking socket", TRUE, 65536, BIG);
  interrupted ();
  reader_gone ();
  files ();
  zero_is_a_descriptor ();
  failures ();
  cancelling ();
  byte_forms ();
  return done_testing ();
}
