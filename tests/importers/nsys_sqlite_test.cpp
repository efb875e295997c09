// SPDX-License-Identifier: Apache-2.0
#include "importers/nsys_sqlite.h"

#include <doctest/doctest.h>
