# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tools/demo and tools/test share: packages, sections with their time, building a preset.
# Sourced from the repository root, under `set -euo pipefail`.

# Everything a build needs on Debian 12. The only list of packages.
packages=(
  cmake ninja-build g++ ccache pkg-config binutils
  libboost-dev libtbb-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  zlib1g-dev libzstd-dev libxxhash-dev libre2-dev libeigen3-dev
  libsimdjson-dev libsqlite3-dev libroaring-dev libncurses-dev
  doctest-dev libbenchmark-dev tmux
)

section_title=''
section_begin=0

# section TITLE: ends the section before with its time and begins the next.
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

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || printf '%s\n' "$package"
  done
}

# Installs what is missing (Debian, as root), or says what to install.
ensure_packages() {
  local missing distribution
  # shellcheck source=/dev/null
  distribution=$(. /etc/os-release 2>/dev/null && printf '%s' "${ID-}") || true
  if [[ $distribution != debian ]]; then
    printf 'This is no Debian. The build needs what Debian calls: %s\n' "${packages[*]}"
    return 0
  fi
  mapfile -t missing < <(missing_packages)
  if [[ ${#missing[@]} == 0 ]]; then
    printf 'All %d packages are installed.\n' "${#packages[@]}"
    return 0
  fi
  if [[ $(id -u) != 0 ]]; then
    printf 'Packages are missing. Install them with:\n  sudo apt-get install -y --no-install-recommends %s\n' \
      "${missing[*]}" >&2
    exit 1
  fi
  printf 'Installing: %s\n' "${missing[*]}"
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

configure_preset() { cmake --preset "$1" -Wno-dev; }

# existing_targets PRESET NAME...: those of the names that the configured build knows as targets.
existing_targets() {
  local preset=$1 known
  shift
  known=$(cmake --build --preset "$preset" --target help | sed -n 's/^\([A-Za-z0-9_.-]*\): .*/\1/p')
  printf '%s\n' "$@" | grep -Fx -f <(printf '%s\n' "$known") || true
}

# build_targets PRESET [NAME...]: builds everything, or the targets named.
build_targets() {
  local preset=$1
  shift
  if [[ $# == 0 ]]; then
    cmake --build --preset "$preset" -j"$(nproc)"
  else
    cmake --build --preset "$preset" -j"$(nproc)" --target "$@"
  fi
}
