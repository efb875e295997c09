# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Functions that the scripts in tools/ share: packages, timed sections, building a preset.
# Scripts source this file from the repository root, under `set -euo pipefail`.

# Packages that a build needs on Debian 12. This is the only list.
packages=(
  cmake ninja-build g++ ccache pkg-config binutils python3-pip
  libboost-dev libtbb-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  zlib1g-dev libzstd-dev libxxhash-dev libre2-dev libeigen3-dev
  libsimdjson-dev libsqlite3-dev libncurses-dev prometheus-cpp-dev libhiredis-dev
  doctest-dev libbenchmark-dev tmux codespell
)

# For the page of `stemtap report`; tools/demo continues without them. A package counts as installed if its
# program exists: Node.js from another source includes npm and conflicts with Debian's npm.
page_packages=(nodejs npm)
# For the browser tests of the page, the type check of the Python package, tests in other root directories, the
# examples, the Debian package and its manual page, completions, metrics, and jobs on several hosts.
test_packages=(chromium mypy redis-server debootstrap busybox-static make dpkg-dev file man-db zsh fish prometheus
  iproute2 slurmctld slurmd slurm-client munge stunnel4 openssh-server openssl python3-yaml)
declare -A program_of=([nodejs]=node [npm]=npm [chromium]=chromium [python3-pip]=pip3)

os_release=/etc/os-release

# Ends the script with one line.
die() {
  printf '%s: %s\n' "${0#"$PWD/"}" "$1" >&2
  exit 1
}

section_title=''
section_begin=0

# section TITLE: prints the time of the previous section and begins the next one.
section() {
  section_end
  section_title=$1
  section_begin=$SECONDS
  printf '\n=== %s\n' "$section_title"
}

section_end() {
  [[ -n $section_title ]] || return 0
  local elapsed=$((SECONDS - section_begin))
  printf -- '--- %s: %d min %02d s\n' "$section_title" $((elapsed / 60)) $((elapsed % 60))
  section_title=''
}

missing_packages() {  # package...
  local package
  for package; do
    [[ -v program_of[$package] ]] && command -v "${program_of[$package]}" >/dev/null && continue
    # No pipe to `grep -q`: that ends at its match, and under pipefail the SIGPIPE of dpkg would count as "missing".
    [[ $(dpkg -s "$package" 2>/dev/null) == *$'\nStatus: install ok installed\n'* ]] || printf '%s\n' "$package"
  done
}

# Installs missing packages (on Debian, as root), or prints what to install and exits. Besides `packages`, it
# installs the packages given as arguments; after --optional, a failure to install them is only a warning.
ensure_packages() {  # [--optional] package...
  local required=("${packages[@]}") optional=() missing wanted distribution
  if [[ ${1-} == --optional ]]; then
    optional=("${@:2}")
  else
    required+=("$@")
  fi
  # shellcheck source=/dev/null
  distribution=$(. "$os_release" 2>/dev/null && printf '%s' "${ID-}") || true
  if [[ $distribution != debian ]]; then
    printf 'This is not Debian. Install the equivalents of these Debian packages: %s\n' "${required[*]} ${optional[*]}"
    return 0
  fi
  mapfile -t missing < <(missing_packages "${required[@]}")
  mapfile -t wanted < <(missing_packages "${optional[@]}")
  if [[ ${#missing[@]} == 0 && ${#wanted[@]} == 0 ]]; then
    printf 'All %d packages are installed.\n' $((${#required[@]} + ${#optional[@]}))
    return 0
  fi
  if [[ $(id -u) != 0 ]]; then
    printf 'Packages are missing. Install them with:\n  sudo apt-get install -y --no-install-recommends %s\n' \
      "${missing[*]} ${wanted[*]}" >&2
    [[ ${#missing[@]} == 0 ]] || exit 1
    return 0
  fi
  printf 'Installing: %s\n' "${missing[*]} ${wanted[*]}"
  apt-get update -q || printf 'The lists of packages could not be updated.\n' >&2
  install_packages "${missing[@]}"
  install_packages "${wanted[@]}"
  mapfile -t missing < <(missing_packages "${missing[@]}")
  mapfile -t wanted < <(missing_packages "${wanted[@]}")
  [[ ${#wanted[@]} == 0 ]] || printf 'Continuing without: %s\n' "${wanted[*]}" >&2
  [[ ${#missing[@]} == 0 ]] || die "${missing[*]}: cannot be installed (the messages of apt-get are above)"
}

# Installs the packages, or those of them that can be installed.
install_packages() {  # package...
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends) package
  [[ $# == 0 ]] || "${install[@]}" "$@" || for package; do "${install[@]}" "$package" || true; done
}

# configure_preset PRESET OPTION...: if stemtap's build files explain why they fail, prints that as one line.
configure_preset() {
  local errors explanation code=0
  errors=$(mktemp)
  cmake --preset "$@" -Wno-dev 2>"$errors" || code=$?
  explanation=$(awk '/^  stemtap: / { found = 1 } found && !/^  / { exit } found { sub(/^ +/, ""); printf "%s ", $0 }' \
    "$errors")
  if [[ $code != 0 && -n $explanation ]]; then
    printf '%s\n' "${explanation% }" >&2
  else
    cat "$errors" >&2
  fi
  rm -f "$errors"
  return $code
}

# existing_targets PRESET NAME...: prints the names that are targets of the configured build.
existing_targets() {
  local preset=$1 known
  shift
  known=$(cmake --build --preset "$preset" --target help | sed -n 's/^\([A-Za-z0-9_.-]*\): .*/\1/p')
  printf '%s\n' "$@" | grep -Fx -f <(printf '%s\n' "$known") || true
}

# build_targets PRESET [NAME...]: builds the named targets, or everything.
build_targets() {
  local preset=$1
  shift
  if [[ $# == 0 ]]; then
    cmake --build --preset "$preset" -j"$(nproc)"
  else
    cmake --build --preset "$preset" -j"$(nproc)" --target "$@"
  fi
}
