# SPDX-License-Identifier: Apache-2.0
# The libraries of a program that is named, from its file alone: what is missing is said; nothing is run.
export XDG_DATA_HOME=$PWD/data
echo 'int main(void) { return 0; }' >main.c
: >none.c
cc -shared -o libgone.so none.c -Wl,-soname,libcublas.so.99 || exit 1
cc -o app main.c -Wl,--no-as-needed -L. -l:libgone.so || exit 1
"$CUTRIAGE" capture --budget 5 -o a.case ./app >out 2>err || { cat err; exit 1; }
gone=$("$CUTRIAGE" query --csv a.case "SELECT status FROM fact WHERE key = 'library.libcublas.so.99'" | tail -1 | tr -d '\r')
[ "$gone" = absent ] || { "$CUTRIAGE" query a.case "SELECT key, value FROM fact WHERE key GLOB 'library.*'"; exit 1; }
"$CUTRIAGE" diagnose a.case >out
grep -q 'libcublas.so.99' out || { cat out; exit 1; }
LD_LIBRARY_PATH=$PWD/found; export LD_LIBRARY_PATH
mkdir found; cp libgone.so found/libcublas.so.99
"$CUTRIAGE" capture --budget 5 -o b.case ./app >out 2>err || { cat err; exit 1; }
"$CUTRIAGE" query --csv b.case "SELECT value FROM fact WHERE key = 'library.libcublas.so.99'" | grep -q 'found/libcublas.so.99' || exit 1
