# Sourced by the scripts in the project's folder: what they need is there, or is installed when we
# are root, or is named.

# need_packages PACKAGE... : installs Debian packages that are missing.
need_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
            missing+=("$package")
    done
    ((${#missing[@]} == 0)) && return 0
    if ! command -v apt-get >/dev/null; then
        echo "Not a Debian system: make sure that this is installed: ${missing[*]}" >&2
        return 0
    fi
    if [[ $(id -u) != 0 ]]; then
        echo "Missing: ${missing[*]}" >&2
        echo "Install it with:  sudo apt-get install ${missing[*]}" >&2
        return 1
    fi
    echo "Installing ${missing[*]}" >&2
    apt-get update -q >&2 || return 1
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        "${missing[@]}" >&2
}

# need_build : what building takes. The SQL parser's build reads C headers.
need_build() {
    need_packages gcc libc6-dev libclang1-14 libclang-common-14-dev || return 1
    command -v cargo >/dev/null && return 0
    echo "Rust's toolchain is missing (cargo): see https://rustup.rs" >&2
    return 1
}

# has_postgres : whether a PostgreSQL that will do is installed.
has_postgres() {
    [[ -n ${KINTSUGI_PG_BIN:-} ]] && return 0
    compgen -G '/usr/lib/postgresql/1[5-8]/bin/postgres' >/dev/null ||
        command -v postgres >/dev/null
}

# need_postgres : a PostgreSQL, Debian's 15 if there is none, and psql.
need_postgres() {
    has_postgres || need_packages postgresql-15 || return 1
    find_psql >/dev/null || need_packages postgresql-client-15
}

# find_psql : prints the path of psql.
find_psql() {
    local found
    if [[ -n ${KINTSUGI_PG_BIN:-} ]]; then
        found=$(find -L "$KINTSUGI_PG_BIN" -maxdepth 5 -name psql -type f 2>/dev/null | head -n 1)
        [[ -n $found ]] && echo "$found" && return 0
    fi
    command -v psql && return 0
    found=$(compgen -G '/usr/lib/postgresql/*/bin/psql' | sort -V | tail -n 1)
    [[ -n $found ]] && echo "$found"
}
