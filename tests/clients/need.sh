# Sourced: which clients there are, what each needs, and how it is run.

clients_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
clients_cache=${KINTSUGI_CLIENTS_CACHE:-$clients_here/../../target/cache/clients}

all_clients() {
    printf '%s\n' psql psycopg3 psycopg2 asyncpg node-postgres postgres-js jdbc pgbench
}

# as_server COMMAND... : PostgreSQL's servers refuse to run as root.
as_server() {
    if [[ $(id -u) == 0 ]]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$@")
    else
        "$@"
    fi
}

# server_program NAME : the path of one of PostgreSQL's programs.
server_program() {
    local found
    if [[ -n ${KINTSUGI_PG_BIN:-} ]]; then
        found=$(find -L "$KINTSUGI_PG_BIN" -maxdepth 5 -name "$1" -type f 2>/dev/null | head -n 1)
        [[ -n $found ]] && echo "$found" && return 0
    fi
    found=$(compgen -G "/usr/lib/postgresql/*/bin/$1" | sort -V | tail -n 1)
    [[ -n $found ]] && echo "$found" && return 0
    command -v "$1"
}

# need_python : the drivers of Python, in an environment of their own.
need_python() {
    local folder=$clients_cache/python
    [[ -e $folder/done-1 ]] && return 0
    mkdir -p "$clients_cache"
    python3 -m venv "$folder" >/dev/null 2>&1 || return 1
    "$folder/bin/pip" install --quiet --disable-pip-version-check 'psycopg[binary]==3.3.9' psycopg2-binary==2.9.13 asyncpg==0.32.0 \
        >/dev/null 2>&1 && touch "$folder/done-1"
}

# need_node : the drivers of Node.
need_node() {
    local folder=$clients_cache/node
    [[ -e $folder/done-1 ]] && return 0
    command -v npm >/dev/null || return 1
    mkdir -p "$folder"
    echo '{"private": true}' >"$folder/package.json"
    (cd "$folder" && npm install --silent --no-audit --no-fund pg@8 pg-cursor@2 pg-copy-streams@7 postgres@3) \
        >/dev/null 2>&1 && touch "$folder/done-1"
}

jdbc_driver=/usr/share/java/postgresql.jar

# need_client NAME : true when it can be run here; what can be installed without root is.
need_client() {
    case $1 in
        psql) find_psql >/dev/null ;;
        pgbench) server_program pgbench >/dev/null ;;
        psycopg3 | psycopg2 | asyncpg) need_python ;;
        node-postgres | postgres-js) need_node ;;
        jdbc)
            [[ -e $jdbc_driver ]] && command -v javac >/dev/null || return 1
            mkdir -p "$clients_cache/jdbc"
            javac -cp "$jdbc_driver" -d "$clients_cache/jdbc" "$clients_here/jdbc/Scenario.java"
            ;;
        *) echo "no client is called $1" >&2; return 1 ;;
    esac
}

# play_client NAME : its scenario, on the server that libpq's variables name.
play_client() {
    case $1 in
        psql) bash "$clients_here/psql/scenario" ;;
        pgbench) bash "$clients_here/pgbench/scenario" ;;
        psycopg3 | psycopg2 | asyncpg) "$clients_cache/python/bin/python" "$clients_here/python/with_$1.py" ;;
        node-postgres | postgres-js)
            NODE_PATH=$clients_cache/node/node_modules node "$clients_here/node/$1.cjs"
            ;;
        jdbc) java -XX:TieredStopAtLevel=1 -cp "$jdbc_driver:$clients_cache/jdbc" Scenario ;;
    esac
}
