// SPDX-License-Identifier: Apache-2.0
#include "importers/kineto_json.h"

#include <doctest/doctest.h>
