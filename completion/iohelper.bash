# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# iohelper.bash - completion for iohelper(1) in bash.
#
# Self-contained; tests/s-options.sh holds its lists against the program.

_iohelper_options_save='--cache= --sync= --engine= --buffer-size= --memory= --offset=
  --length= --expect-length= --size= --require= --mode= --in-place --no-clobber
  --no-follow --allow-tty --fd= --commit-fd= --manager-fd= --result= --result-fd=
  --quiet --verbose --help'
_iohelper_options_restore='--cache= --engine= --buffer-size= --memory= --offset=
  --length= --expect-length= --no-follow --allow-tty --fd= --manager-fd= --result=
  --result-fd= --quiet --verbose --help'

_iohelper_words ()
{
  case $1 in
    --cache) echo 'auto direct drop keep' ;;
    --sync) echo 'none data full' ;;
    --engine) echo 'auto uring splice copy' ;;
    --require) echo 'auto none qemu libvirt elf' ;;
  esac
}

_iohelper_files ()
{
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_iohelper_value () # OPTION BEGINNING
{
  local words
  words=$(_iohelper_words "$1")
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
  elif [ "$1" = --result ]; then
    _iohelper_files "$2"
  fi
}

# readline splits at '=': --cache=d is three words.
_iohelper ()
{
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local before='' form=${COMP_WORDS[1]:-} options i file=''
  COMPREPLY=()
  [ "$COMP_CWORD" -lt 2 ] || before=${COMP_WORDS[COMP_CWORD-2]}

  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W 'save restore --help --version' -- "$cur")
    return
  fi
  case $form in
    save) options=$_iohelper_options_save ;;
    restore) options=$_iohelper_options_restore ;;
    *) return ;;
  esac
  # Behind FILE, "--" begins a command.
  for ((i = 2; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --)
        if [ -n "$file" ]; then
          if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
          elif [ "$i" = $((COMP_CWORD - 1)) ]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$cur")
          else
            _iohelper_files "$cur"
          fi
          return
        fi
        ;;
      --*)
        [[ " $options " == *[[:space:]]"${COMP_WORDS[i]}="[[:space:]]* ]] || continue
        # its value is no FILE
        [ "${COMP_WORDS[i+1]:-}" != = ] || i=$((i + 1))
        i=$((i + 1))
        ;;
      *) file=${COMP_WORDS[i]} ;;
    esac
  done
  if [ "$cur" = = ] && [[ $prev == --* ]]; then
    _iohelper_value "$prev" ''
  elif [ "$prev" = = ] && [[ $before == --* ]]; then
    _iohelper_value "$before" "$cur"
  elif [[ $prev == --* && " $options " == *[[:space:]]"$prev="[[:space:]]* ]]; then
    _iohelper_value "$prev" "$cur"
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
  else
    _iohelper_files "$cur"
  fi
}

complete -F _iohelper iohelper
