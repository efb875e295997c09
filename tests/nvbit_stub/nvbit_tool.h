// SPDX-License-Identifier: Apache-2.0
// Replaces NVBit's header of this name. Every tool includes it once.
#pragma once
