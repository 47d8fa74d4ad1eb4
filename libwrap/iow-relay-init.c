/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * iow-relay-init.c - starts a relay: checks the request, makes the pipe and the
 * private socket, runs the helper, waits until it has the file open.
 *
 * Invariant: either the relay has its link and the hypervisor's end, or neither
 * and every descriptor and process made here is gone or on its way out.
 */
#include <config.h>

#include "libwrap/iow-relay-private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The helper's numbers for what it is given beside 0, 1 and 2. */
#define MANAGER_FD 3
#define FILE_FD 4

/* What is open while a relay starts; whatever is left here gets closed. */
typedef struct
{
  int stream[2];  /* the pipe: read end, write end */
  int wire[2];    /* the private socket: ours, the helper's */
  int file;       /* duplicate of the caller's descriptor */
  int pipe_path;
} Fds;

static void
fds_clear (Fds *fds)
{
  iow_fd_clear (&fds->stream[0]);
  iow_fd_clear (&fds->stream[1]);
  iow_fd_clear (&fds->wire[0]);
  iow_fd_clear (&fds->wire[1]);
  iow_fd_clear (&fds->file);
  iow_fd_clear (&fds->pipe_path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Fds, fds_clear)

/* ---- the request ------------------------------------------------------------------ */

static gboolean
check_request (IowRelay *relay, GError **error)
{
  gboolean save = relay->direction == IOW_DIRECTION_SAVE;
  const char *save_only = relay->in_place     ? "in-place"
                          : relay->no_clobber ? "no-clobber"
                          : relay->mode >= 0  ? "mode"
                                              : NULL;
  const char *fault = NULL;

  if (relay->file_fd < 0 && !relay->path)
    fault = "neither a path nor a descriptor was given";
  else if (relay->path && *relay->path == '\0')
    fault = "the path is an empty name";
  if (fault)
    g_set_error_literal (error, IOW_ERROR, IOW_ERROR_INVALID, fault);
  else if (save_only && !save)
    g_set_error (error, IOW_ERROR, IOW_ERROR_INVALID, "'%s' has no meaning for a restore",
                 save_only);
  else if (save_only && relay->file_fd >= 0)
    g_set_error (error, IOW_ERROR, IOW_ERROR_INVALID,
                 "'%s' has no meaning for a descriptor that is open already", save_only);
  else
    return TRUE;
  return FALSE;
}

/* An absolute name: which program runs must not depend on where the process
 * happens to be. (transfer none) */
static const char *
find_helper (IowRelay *relay, GError **error)
{
  const char *path = relay->helper_path ? relay->helper_path : secure_getenv ("IOWRAP_HELPER");

  if (!path || *path == '\0')
    path = IOW_HELPER_PATH;
  if (g_path_is_absolute (path))
    return path;
  g_set_error (error, IOW_ERROR, IOW_ERROR_INVALID,
               "the helper '%s': give its name from the root on", path);
  return NULL;
}

static const char *
nick (GType type, int value)
{
  g_autoptr (GEnumClass) values = g_type_class_ref (type);

  /* The strings are static, whatever becomes of the class. */
  return g_enum_get_value (values, value)->value_nick;
}

static void
add_size (GPtrArray *argv, const char *option, gint64 bytes)
{
  if (bytes >= 0)
    g_ptr_array_add (argv, g_strdup_printf ("--%s=%" G_GINT64_FORMAT, option, bytes));
}

static GPtrArray *
build_argv (IowRelay *relay, const char *helper)
{
  GPtrArray *argv = g_ptr_array_new_with_free_func (g_free);
  gboolean save = relay->direction == IOW_DIRECTION_SAVE;

  g_ptr_array_add (argv, g_strdup (helper));
  g_ptr_array_add (argv, g_strdup (nick (IOW_TYPE_DIRECTION, relay->direction)));
  g_ptr_array_add (argv, g_strdup_printf ("--manager-fd=%d", MANAGER_FD));
  g_ptr_array_add (argv, g_strdup ("--quiet"));
  if (relay->file_fd >= 0)
    g_ptr_array_add (argv, g_strdup_printf ("--fd=%d", FILE_FD));
  g_ptr_array_add (argv, g_strdup_printf ("--cache=%s", nick (IOW_TYPE_CACHE_MODE, relay->cache)));
  if (save)
    g_ptr_array_add (argv, g_strdup_printf ("--sync=%s", nick (IOW_TYPE_SYNC_MODE, relay->sync)));
  if (relay->mode >= 0)
    g_ptr_array_add (argv, g_strdup_printf ("--mode=%o", (unsigned) relay->mode));
  add_size (argv, "offset", relay->offset_bytes);
  add_size (argv, "length", relay->length_bytes);
  add_size (argv, "expect-length", relay->expect_length_bytes);
  if (relay->buffer_size_bytes > 0)
    add_size (argv, "buffer-size", (gint64) relay->buffer_size_bytes);
  if (relay->in_place)
    g_ptr_array_add (argv, g_strdup ("--in-place"));
  if (relay->no_clobber)
    g_ptr_array_add (argv, g_strdup ("--no-clobber"));
  g_ptr_array_add (argv, g_strdup ("--"));
  if (!relay->path)
    g_ptr_array_add (argv, g_strdup_printf ("descriptor %d", relay->file_fd));
  else if (strcmp (relay->path, "-") == 0)
    g_ptr_array_add (argv, g_strdup ("./-"));
  else
    g_ptr_array_add (argv, g_strdup (relay->path));
  g_ptr_array_add (argv, NULL);
  return argv;
}

/* ---- descriptors -------------------------------------------------------------------- */

static gboolean
open_fds (IowRelay *relay, Fds *fds, gsize *ret_pipe_size, GError **error)
{
  gboolean save = relay->direction == IOW_DIRECTION_SAVE;
  int ours;

  if (relay->file_fd >= 0)
    {
      fds->file = fcntl (relay->file_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
      if (fds->file < 0)
        {
          iow_set_errno_error (error, IOW_END_HELPER, errno, "duplicating descriptor %d",
                               relay->file_fd);
          return FALSE;
        }
    }
  if (!iow_pipe_open (&fds->stream[0], &fds->stream[1], ret_pipe_size, error))
    return FALSE;
  /* The two ends are two open files: this leaves the helper's end blocking. */
  ours = fds->stream[save ? 1 : 0];
  if (relay->nonblock && fcntl (ours, F_SETFL, fcntl (ours, F_GETFL) | O_NONBLOCK) < 0)
    {
      iow_set_errno_error (error, IOW_END_HELPER, errno, "making the pipe non-blocking");
      return FALSE;
    }
  if (save)
    fds->pipe_path = iow_pipe_path_fd (fds->stream[0]);
  if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds->wire) < 0)
    {
      iow_set_errno_error (error, IOW_END_HELPER, errno, "making a socket pair");
      return FALSE;
    }
  return iow_fd_lift (&fds->wire[0], error) && iow_fd_lift (&fds->wire[1], error);
}

static gboolean
run_helper (IowRelay *relay, const char *helper, Fds *fds, IowChild *ret_child, GError **error)
{
  gboolean save = relay->direction == IOW_DIRECTION_SAVE;
  g_autoptr (GPtrArray) argv = build_argv (relay, helper);
  int sources[] = { fds->wire[1], fds->file };
  int targets[] = { MANAGER_FD, FILE_FD };

  if (!iow_spawn ((const char *const *) argv->pdata, save ? fds->stream[0] : -1,
                  save ? -1 : fds->stream[1], sources, targets, fds->file >= 0 ? 2 : 1, ret_child,
                  error))
    return FALSE;
  /* From now on the helper's death is an end of file or EPIPE for the stream,
   * and an end of file on the socket. */
  iow_fd_clear (&fds->stream[save ? 0 : 1]);
  iow_fd_clear (&fds->wire[1]);
  iow_fd_clear (&fds->file);
  return TRUE;
}

/* ---- the start ------------------------------------------------------------------------- */

static gboolean
start (IowRelay *relay, GCancellable *cancellable, GError **error)
{
  gboolean save = relay->direction == IOW_DIRECTION_SAVE;
  g_auto (Fds) fds = { { -1, -1 }, { -1, -1 }, -1, -1 };
  g_autoptr (IowLink) link = NULL;
  const char *helper;
  IowChild child;
  gsize pipe_size;

  if (g_cancellable_set_error_if_cancelled (cancellable, error) || !check_request (relay, error))
    return FALSE;
  helper = find_helper (relay, error);
  if (!helper || !open_fds (relay, &fds, &pipe_size, error)
      || !run_helper (relay, helper, &fds, &child, error))
    return FALSE;

  link = iow_link_new (save, iow_fd_steal (&fds.wire[0]), &child, iow_fd_steal (&fds.pipe_path),
                       error);
  if (!link)
    return FALSE;
  if (!iow_link_wait_ready (link, cancellable, error))
    {
      iow_link_cancel (link);
      return FALSE;
    }

  iow_lock (&relay->lock);
  relay->fd = iow_fd_steal (&fds.stream[save ? 1 : 0]);
  relay->pipe_size_bytes = pipe_size;
  relay->link = g_steal_pointer (&link);
  iow_unlock (&relay->lock);
  return TRUE;
}

gboolean
iow_relay_init_sync (GInitable *initable, GCancellable *cancellable, GError **error)
{
  IowRelay *relay = IOW_RELAY (initable);
  g_autoptr (GError) local = NULL;
  gboolean first, ok;

  /* Initialising again repeats the first result, as GInitable asks. */
  iow_lock (&relay->lock);
  first = !relay->init_begun;
  relay->init_begun = TRUE;
  ok = relay->link != NULL;
  if (!first && !ok)
    {
      if (relay->init_error)
        local = g_error_copy (relay->init_error);
      else
        local = g_error_new_literal (IOW_ERROR, IOW_ERROR_NOT_READY,
                                     "the relay is being initialised, or disposed of");
    }
  iow_unlock (&relay->lock);

  if (first)
    {
      ok = start (relay, cancellable, &local);
      iow_lock (&relay->lock);
      if (!ok)
        relay->init_error = g_error_copy (local);
      iow_unlock (&relay->lock);
    }
  if (!ok)
    g_propagate_error (error, g_steal_pointer (&local));
  return ok;
}
