# SPDX-License-Identifier: Apache-2.0
"$CUTRIAGE" diagnoze app.log
