# SPDX-License-Identifier: Apache-2.0
printf 'service started\nrequest 1 done in 5 ms\nrequest 2 done in 5 ms\n' >app.log
"$CUTRIAGE" diagnose app.log
