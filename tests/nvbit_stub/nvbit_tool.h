// SPDX-License-Identifier: Apache-2.0
// Stands in for NVBit's header of this name, which every tool includes once.
#pragma once
