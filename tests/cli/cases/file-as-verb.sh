# SPDX-License-Identifier: Apache-2.0
echo x >app.log
"$CUTRIAGE" app.log
