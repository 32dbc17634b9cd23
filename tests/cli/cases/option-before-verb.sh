# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" --json diagnose x.log
