// SPDX-License-Identifier: Apache-2.0
#include "importers/metric_join.h"

#include <doctest/doctest.h>
