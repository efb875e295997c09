// SPDX-License-Identifier: Apache-2.0
// Replaces NVBit's header of this name, which every tool includes once.
#pragma once
