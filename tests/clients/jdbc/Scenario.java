import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.*;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.util.PSQLException;

/** The scenario for pgjdbc: what each step says is one line. */
public final class Scenario {
    private interface Body {
        Object run(Connection c) throws Exception;
    }

    private static Connection open(String... pairs) throws SQLException {
        Properties p = new Properties();
        p.setProperty("user", System.getenv("PGUSER"));
        for (int i = 0; i < pairs.length; i += 2) p.setProperty(pairs[i], pairs[i + 1]);
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        return DriverManager.getConnection(url, p);
    }

    private static String wrong(SQLException e) {
        String detail = e instanceof PSQLException p && p.getServerErrorMessage() != null ? p.getServerErrorMessage().getDetail() : null;
        Matcher told = Pattern.compile("kintsugi/[a-z0-9-]+").matcher(detail == null ? "" : detail);
        if ("0A000".equals(e.getSQLState()) && told.find()) return "refused " + told.group();
        String said = e instanceof PSQLException p && p.getServerErrorMessage() != null ? p.getServerErrorMessage().getMessage() : e.getMessage();
        return e.getSQLState() + " " + said.split("\n")[0];
    }

    private static void step(String name, Body body, String... pairs) {
        try (Connection c = open(pairs)) {
            System.out.println(name + ": " + body.run(c));
        } catch (SQLException e) {
            System.out.println(name + ": " + wrong(e));
        } catch (Exception e) {
            System.out.println(name + ": " + e);
        }
        System.out.flush();
    }

    private static String rows(ResultSet r) throws SQLException {
        StringBuilder text = new StringBuilder();
        int n = r.getMetaData().getColumnCount();
        while (r.next()) {
            text.append('(');
            for (int i = 1; i <= n; i++) text.append(i > 1 ? "," : "").append(r.getString(i));
            text.append(')');
        }
        return text.toString();
    }

    private static String ask(Connection c, String sql, Object... values) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) s.setObject(i + 1, values[i]);
            try (ResultSet r = s.executeQuery()) {
                return rows(r);
            }
        }
    }

    private static String attempt(Connection c, String sql) {
        try (Statement s = c.createStatement()) {
            return s.execute(sql) ? rows(s.getResultSet()) : "" + s.getUpdateCount();
        } catch (SQLException e) {
            return wrong(e);
        }
    }

    private static final String INSERT = "INSERT INTO accounts (id, name, balance, born, token, raw, tags, doc, mood, mail, seen)"
        + " VALUES (?, ?, ?, ?, ?, ?, ?, ?::jsonb, ?::mood, ?, ?)";

    private static void fill(Connection c, PreparedStatement s, long id) throws SQLException {
        s.setLong(1, id);
        s.setString(2, "é✓'\\");
        s.setBigDecimal(3, new BigDecimal("12.30"));
        s.setDate(4, Date.valueOf("1999-12-31"));
        s.setObject(5, new UUID(0, 5));
        s.setBytes(6, new byte[] {0, -1});
        s.setArray(7, c.createArrayOf("text", new Object[] {"a", null, "b,\"c"}));
        s.setString(8, "{\"k\": [1, null]}");
        s.setString(9, "happy");
        s.setString(10, "x@y");
        s.setObject(11, java.time.OffsetDateTime.parse("2020-05-17T12:00:00Z"));
    }

    private static String batch(Connection c, int from) throws SQLException {
        try (PreparedStatement s = c.prepareStatement("INSERT INTO accounts (id, name) VALUES (?, ?)")) {
            for (int n = 0; n < 50; n++) {
                s.setLong(1, from + n);
                s.setString(2, "b" + n);
                s.addBatch();
            }
            int done = s.executeBatch().length;
            return done + ask(c, "SELECT count(*) FROM accounts WHERE id BETWEEN ? AND ?", (long) from, (long) from + 49);
        }
    }

    private static String fetch(Connection c, String sql, int size) throws SQLException {
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.setFetchSize(size);
            try (ResultSet r = s.executeQuery(sql)) {
                r.next();
                String first = r.getString(1);
                String other = attempt(c, "SELECT count(*) FROM accounts WHERE id <= 40");
                return first + other + rows(r);
            }
        } finally {
            c.rollback();
        }
    }

    public static void main(String[] arguments) throws Exception {
        java.util.TimeZone.setDefault(java.util.TimeZone.getTimeZone("UTC"));
        reads();
        writes();
        transactions();
        cursors();
        errors();
        settings();
        metadata();
    }

    private static void reads() {
        step("connect", c -> c.getMetaData().getDatabaseProductName() + " " + c.getAutoCommit() + " " + c.getTransactionIsolation() + " " + c.getCatalog() + " " + c.getSchema() + " " + c.isValid(3));
        step("simple select", c -> attempt(c, "SELECT 1, 'x', NULL, 1.50, true"));
        step("keyed read", c -> ask(c, "SELECT * FROM accounts WHERE id = ?", 7L));
        step("keyed read, int for bigint", c -> ask(c, "SELECT name FROM accounts WHERE id = ?", 7));
        step("keyed read, simple mode", c -> ask(c, "SELECT * FROM accounts WHERE id = ?", 7L), "preferQueryMode", "simple");
        step("keyed read, extended for prepared", c -> ask(c, "SELECT * FROM accounts WHERE id = ?", 7L), "preferQueryMode", "extendedForPrepared");
        step("scatter in order", c -> ask(c, "SELECT id, name, mood, seen FROM accounts WHERE id <= ? ORDER BY id", 9L));
        step("limit and offset", c -> ask(c, "SELECT id FROM accounts ORDER BY id LIMIT ? OFFSET ?", 5L, 7L));
        step("count", c -> ask(c, "SELECT count(*), sum(balance), min(born), max(seen) FROM accounts WHERE id <= 40"));
        step("max rows", c -> {
            try (Statement s = c.createStatement()) {
                s.setMaxRows(5);
                return rows(s.executeQuery("SELECT id FROM accounts ORDER BY id"));
            }
        });
        step("prepared nine times", c -> {
            StringBuilder text = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT id, name, balance, born, seen, raw FROM accounts WHERE id = ?")) {
                for (long n = 1; n < 10; n++) {
                    s.setLong(1, n);
                    text.append(rows(s.executeQuery()));
                }
                return text.append(s.unwrap(PGStatement.class).isUseServerPrepare());
            }
        });
        step("scatter nine times", c -> {
            StringBuilder text = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT count(*), sum(balance) FROM accounts WHERE id <= ?")) {
                for (long n = 1; n < 10; n++) {
                    s.setLong(1, n);
                    text.append(rows(s.executeQuery()));
                }
                return text;
            }
        });
        step("array parameter", c -> {
            try (PreparedStatement s = c.prepareStatement("SELECT id FROM accounts WHERE id = ANY(?) ORDER BY id")) {
                s.setArray(1, c.createArrayOf("bigint", new Object[] {3L, 4L, 5L}));
                return rows(s.executeQuery());
            }
        });
        step("several statements", c -> {
            try (Statement s = c.createStatement()) {
                List<Object> found = new ArrayList<>();
                boolean is = s.execute("UPDATE accounts SET name = 'j' WHERE id IN (1, 2); SELECT id FROM accounts WHERE name = 'j' ORDER BY id; UPDATE accounts SET name = 'k' WHERE id = 3");
                while (is || s.getUpdateCount() != -1) {
                    found.add(is ? rows(s.getResultSet()) : s.getUpdateCount());
                    is = s.getMoreResults();
                }
                return found;
            }
        });
        step("result metadata", c -> {
            try (PreparedStatement s = c.prepareStatement("SELECT a.*, 1 AS one FROM accounts a WHERE id = ?")) {
                ResultSetMetaData m = s.getMetaData();
                ParameterMetaData p = s.getParameterMetaData();
                StringBuilder text = new StringBuilder(p.getParameterTypeName(1));
                for (int i = 1; i <= m.getColumnCount(); i++)
                    text.append(' ').append(m.getColumnName(i)).append('/').append(m.getColumnTypeName(i)).append('/').append(m.getTableName(i))
                        .append('/').append(m.isNullable(i)).append('/').append(m.getPrecision(i)).append('/').append(m.isAutoIncrement(i));
                return text;
            }
        });
    }

    private static void writes() {
        step("insert of every type", c -> {
            try (PreparedStatement s = c.prepareStatement(INSERT + " RETURNING *")) {
                fill(c, s, 100);
                return rows(s.executeQuery());
            }
        });
        step("generated keys", c -> {
            try (PreparedStatement s = c.prepareStatement(INSERT, Statement.RETURN_GENERATED_KEYS)) {
                fill(c, s, 101);
                return s.executeUpdate() + rows(s.getGeneratedKeys());
            }
        });
        step("generated keys, named", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO notes (body) VALUES (?)", new String[] {"id"})) {
                s.setString(1, "x");
                int count = s.executeUpdate();
                ResultSet r = s.getGeneratedKeys();
                return count + " " + (r.next() && r.getLong(1) > 0);
            }
        });
        step("multi-row insert", c -> ask(c, "INSERT INTO accounts (id, name) VALUES (?, ?), (?, ?), (?, ?) RETURNING id", 110L, "a", 111L, "b", 112L, "c"));
        step("batch", c -> batch(c, 1000));
        step("batch, rewritten", c -> batch(c, 2000), "reWriteBatchedInserts", "true");
        step("batch in a transaction", c -> {
            c.setAutoCommit(false);
            String said = batch(c, 3000);
            c.rollback();
            return said + ask(c, "SELECT count(*) FROM accounts WHERE id >= 3000");
        });
        step("batch that fails", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO accounts (id, name) VALUES (?, 'x')")) {
                for (long n : new long[] {4000, 4001, 1, 4002}) {
                    s.setLong(1, n);
                    s.addBatch();
                }
                s.executeBatch();
                return "went";
            } catch (BatchUpdateException e) {
                return java.util.Arrays.toString(e.getUpdateCounts()) + wrong(e.getNextException()) + ask(c, "SELECT count(*) FROM accounts WHERE id >= 4000");
            }
        });
        step("batch of keys", c -> {
            try (PreparedStatement s = c.prepareStatement("INSERT INTO accounts (id, name) VALUES (?, 'x')", new String[] {"id"})) {
                for (long n = 5000; n < 5010; n++) {
                    s.setLong(1, n);
                    s.addBatch();
                }
                s.executeBatch();
                return rows(s.getGeneratedKeys());
            }
        });
        step("batch of texts", c -> {
            try (Statement s = c.createStatement()) {
                for (int n = 1; n < 6; n++) s.addBatch("UPDATE accounts SET balance = " + n + " WHERE id = " + n);
                return java.util.Arrays.toString(s.executeBatch());
            }
        });
        step("copy in", c -> c.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY accounts (id, name) FROM STDIN", new StringReader("6000\ta\n6001\tb\n6002\tc\n"))
            + ask(c, "SELECT id, name FROM accounts WHERE id >= 6000 ORDER BY id"));
        step("copy in fails", c -> c.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY accounts (id, name) FROM STDIN", new StringReader("6010\ta\nx\tb\n")));
        step("copy out", c -> {
            StringWriter out = new StringWriter();
            long count = c.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY accounts (id, mood) TO STDOUT", out);
            return count + " " + out.toString().lines().sorted().limit(4).toList();
        });
        step("updatable result", c -> {
            try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_SENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
                ResultSet r = s.executeQuery("SELECT id, name FROM accounts WHERE id = 17");
                r.next();
                r.updateString(2, "changed");
                r.updateRow();
                return ask(c, "SELECT name FROM accounts WHERE id = 17");
            }
        });
    }

    private static void transactions() {
        step("transaction over shards", c -> {
            c.setAutoCommit(false);
            for (long n = 21; n < 27; n++) {
                try (PreparedStatement s = c.prepareStatement("UPDATE accounts SET name = 't' WHERE id = ?")) {
                    s.setLong(1, n);
                    s.executeUpdate();
                }
            }
            c.commit();
            return ask(c, "SELECT id FROM accounts WHERE name = 't' ORDER BY id");
        });
        step("savepoint", c -> {
            c.setAutoCommit(false);
            attempt(c, "UPDATE accounts SET name = 's1' WHERE id = 31");
            Savepoint s = c.setSavepoint("here");
            String said = attempt(c, "SELECT 1/0");
            String then = attempt(c, "SELECT 1");
            c.rollback(s);
            attempt(c, "UPDATE accounts SET name = 's2' WHERE id = 32");
            c.releaseSavepoint(s);
            c.commit();
            return said + then + ask(c, "SELECT id, name FROM accounts WHERE id IN (31, 32) ORDER BY id");
        });
        step("autosave", c -> {
            c.setAutoCommit(false);
            String a = attempt(c, "UPDATE accounts SET name = 'a1' WHERE id = 33");
            String b = attempt(c, "INSERT INTO accounts (id, name) VALUES (1, 'x')");
            String d = attempt(c, "UPDATE accounts SET name = 'a2' WHERE id = 34");
            c.commit();
            return a + b + d + ask(c, "SELECT id, name FROM accounts WHERE id IN (33, 34) ORDER BY id");
        }, "autosave", "always");
        step("commit of a failed one", c -> {
            c.setAutoCommit(false);
            attempt(c, "SELECT 1/0");
            try {
                c.commit();
                return "committed";
            } catch (SQLException e) {
                return wrong(e);
            }
        });
        step("read only", c -> {
            c.setReadOnly(true);
            c.setAutoCommit(false);
            return ask(c, "SELECT name FROM accounts WHERE id = 35") + attempt(c, "UPDATE accounts SET name = 'x' WHERE id = 35");
        });
        step("repeatable read", c -> {
            c.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            c.setAutoCommit(false);
            return ask(c, "SELECT name FROM accounts WHERE id = 35") + c.getTransactionIsolation();
        });
    }

    private static void cursors() {
        step("fetch size, one shard", c -> fetch(c, "SELECT id FROM entries WHERE account_id = 4 ORDER BY id", 1));
        step("fetch size, all shards", c -> fetch(c, "SELECT id FROM accounts WHERE id <= 20 ORDER BY id", 7));
        step("fetch size larger than all", c -> fetch(c, "SELECT id FROM accounts WHERE id <= 20 ORDER BY id", 100));
        step("fetch size, prepared", c -> {
            c.setAutoCommit(false);
            StringBuilder text = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT id FROM entries WHERE account_id = ? ORDER BY id")) {
                s.setFetchSize(2);
                for (long n = 1; n < 9; n++) {
                    s.setLong(1, n);
                    text.append(rows(s.executeQuery()));
                }
            }
            return text;
        });
    }

    private static void errors() {
        String[] texts = {"SELEC 1", "SELECT * FROM nowhere", "SELECT nope FROM accounts", "INSERT INTO accounts (id, name) VALUES (1, 'x')",
            "UPDATE accounts SET mail = 'nope' WHERE id = 1", "UPDATE accounts SET mood = 'angry' WHERE id = 1", "INSERT INTO entries VALUES (9999, 1, 1)", "SELECT 1/(id - id) FROM accounts"};
        for (String text : texts) step("error, " + text.toLowerCase().replace(":", ""), c -> attempt(c, text));
        step("wrong type", c -> ask(c, "SELECT name FROM accounts WHERE id = ?", "7"));
        step("warnings", c -> {
            try (Statement s = c.createStatement()) {
                s.execute("DROP TABLE IF EXISTS never_there");
                return s.getWarnings() == null ? "none" : s.getWarnings().getSQLState() + s.getWarnings().getMessage();
            }
        });
        step("query timeout", c -> {
            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                s.execute("SELECT pg_sleep(20)");
                return "slept";
            } catch (SQLException e) {
                return wrong(e) + attempt(c, "SELECT 1");
            }
        });
        step("table changes under a statement", c -> {
            StringBuilder text = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT * FROM accounts WHERE id = ?")) {
                for (int n = 0; n < 9; n++) {
                    if (n == 6) attempt(c, "ALTER TABLE accounts ADD COLUMN extra int");
                    s.setLong(1, 3);
                    try (ResultSet r = s.executeQuery()) {
                        text.append(r.getMetaData().getColumnCount()).append(' ');
                    } catch (SQLException e) {
                        text.append(wrong(e)).append(' ');
                    }
                }
            }
            attempt(c, "ALTER TABLE accounts DROP COLUMN extra");
            return text;
        });
        step("deallocate", c -> {
            StringBuilder text = new StringBuilder();
            try (PreparedStatement s = c.prepareStatement("SELECT name FROM accounts WHERE id = ?")) {
                for (int n = 0; n < 9; n++) {
                    if (n == 7) attempt(c, "DEALLOCATE ALL");
                    s.setLong(1, 3);
                    try (ResultSet r = s.executeQuery()) {
                        text.append(rows(r));
                    } catch (SQLException e) {
                        text.append(wrong(e));
                    }
                }
            }
            return text;
        });
    }

    private static void settings() {
        step("application name", c -> {
            c.setClientInfo("ApplicationName", "jay");
            return ask(c, "SHOW application_name") + c.getClientInfo("ApplicationName");
        });
        step("schema", c -> {
            c.setSchema("pg_catalog");
            return c.getSchema() + ask(c, "SELECT count(*) > 0 FROM pg_class");
        });
        step("options", c -> ask(c, "SELECT current_setting('statement_timeout'), current_setting('search_path')"), "options", "-c statement_timeout=777", "currentSchema", "public");
        step("set config", c -> ask(c, "SELECT set_config('app.z', ?, false)", "v") + ask(c, "SELECT current_setting('app.z') FROM accounts WHERE id IN (1, 2, 3)"));
        step("network timeout", c -> {
            c.setNetworkTimeout(Runnable::run, 5000);
            return c.getNetworkTimeout() + ask(c, "SELECT 1");
        });
    }

    private static void metadata() {
        step("tables", c -> rows(c.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"})));
        step("columns", c -> {
            StringBuilder text = new StringBuilder();
            ResultSet r = c.getMetaData().getColumns(null, "public", "accounts", "%");
            while (r.next()) text.append(r.getString("COLUMN_NAME")).append('/').append(r.getString("TYPE_NAME")).append('/').append(r.getInt("NULLABLE")).append(' ');
            return text;
        });
        step("primary keys", c -> rows(c.getMetaData().getPrimaryKeys(null, "public", "entries")));
        step("foreign keys", c -> rows(c.getMetaData().getImportedKeys(null, "public", "entries")));
        step("indexes", c -> {
            StringBuilder text = new StringBuilder();
            ResultSet r = c.getMetaData().getIndexInfo(null, "public", "entries", false, true);
            while (r.next()) text.append(r.getString("INDEX_NAME")).append('/').append(r.getString("COLUMN_NAME")).append(' ');
            return text;
        });
        step("types", c -> {
            int count = 0;
            for (ResultSet r = c.getMetaData().getTypeInfo(); r.next(); ) count++;
            return count > 100;
        });
        step("server version", c -> c.getMetaData().getDatabaseMajorVersion());
    }
}
