# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnose nosuch.log
