import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Does with JDBC what the lines of its input say: words with blanks between them, encoded as in a URL. Answers each with
 * a line of JSON.
 */
public final class Jdbc {
    private static final Map<String, Connection> connections = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            List<String> words = new ArrayList<>();
            for (String word : line.split(" ")) words.add(URLDecoder.decode(word, StandardCharsets.UTF_8));
            try {
                out.println(json(done(words)));
            } catch (SQLException error) {
                out.println(json(Map.of("state", String.valueOf(error.getSQLState()), "message", error.getMessage())));
            }
        }
    }

    private static Object done(List<String> words) throws Exception {
        String name = words.get(1);
        switch (words.get(0)) {
            case "connect":
                connections.put(name, DriverManager.getConnection(words.get(2)));
                return Map.of();
            case "close":
                connections.remove(name).close();
                return Map.of();
            case "ask":
                return asked(connections.get(name), words.get(2), words.subList(3, words.size()));
            case "cancel":
                return cancelled(connections.get(name), words.get(2));
            case "find":
                return found(connections.get(name).getMetaData());
            default:
                throw new IllegalArgumentException(words.get(0));
        }
    }

    private static Object asked(Connection connection, String sql, List<String> values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.size(); i++) bind(statement, i + 1, values.get(i));
            try (ResultSet rows = statement.executeQuery()) {
                return answer(rows);
            }
        }
    }

    /** A value with its type before it. */
    private static void bind(PreparedStatement statement, int at, String value) throws SQLException {
        String text = value.substring(value.indexOf(':') + 1);
        switch (value.substring(0, value.indexOf(':'))) {
            case "int" -> statement.setInt(at, Integer.parseInt(text));
            case "float" -> statement.setDouble(at, Double.parseDouble(text));
            case "bool" -> statement.setBoolean(at, Boolean.parseBoolean(text));
            case "date" -> statement.setDate(at, java.sql.Date.valueOf(text));
            case "datetime" -> statement.setTimestamp(at, Timestamp.valueOf(text));
            default -> statement.setString(at, text);
        }
    }

    /** Runs a statement that takes for ever, and cancels it again and again: before it runs that does nothing. */
    private static Object cancelled(Connection connection, String sql) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            var canceller = new Thread(() -> {
                try {
                    while (true) {
                        Thread.sleep(100);
                        statement.cancel();
                    }
                } catch (InterruptedException | SQLException ended) {
                    return;
                }
            });
            canceller.start();
            try (ResultSet rows = statement.executeQuery()) {
                return answer(rows);
            } finally {
                canceller.interrupt();
                canceller.join();
            }
        }
    }

    private static Object found(DatabaseMetaData about) throws SQLException {
        Map<String, Object> all = new HashMap<>();
        all.put("catalogs", answer(about.getCatalogs()));
        all.put("schemas", answer(about.getSchemas()));
        all.put("kinds of tables", answer(about.getTableTypes()));
        all.put("tables", answer(about.getTables(null, "public", "%", new String[] {"TABLE", "VIEW"})));
        all.put("columns", answer(about.getColumns(null, "public", "%", "%")));
        all.put("types", answer(about.getTypeInfo()));
        all.put("keys", answer(about.getPrimaryKeys(null, "public", "people")));
        all.put("references", answer(about.getImportedKeys(null, "public", "people")));
        all.put("indexes", answer(about.getIndexInfo(null, "public", "people", false, true)));
        return all;
    }

    private static Map<String, Object> answer(ResultSet rows) throws SQLException {
        ResultSetMetaData about = rows.getMetaData();
        List<Object> columns = new ArrayList<>();
        for (int i = 1; i <= about.getColumnCount(); i++) {
            columns.add(List.of(about.getColumnLabel(i), about.getColumnTypeName(i) + " " + about.getColumnClassName(i)));
        }
        List<Object> found = new ArrayList<>();
        while (rows.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= columns.size(); i++) row.add(rows.getObject(i));
            found.add(row);
        }
        rows.close();
        return Map.of("columns", columns, "rows", found);
    }

    private static String json(Object value) {
        if (value == null || value instanceof Boolean || value instanceof Long || value instanceof Integer) {
            return String.valueOf(value);
        }
        if (value instanceof Double || value instanceof BigDecimal) return json(Map.of("float", value.toString()));
        if (value instanceof java.sql.Date) return json(Map.of("date", value.toString()));
        if (value instanceof Timestamp) return json(Map.of("datetime", value.toString()));
        if (value instanceof List<?> list) {
            List<String> parts = new ArrayList<>();
            for (Object part : list) parts.add(json(part));
            return "[" + String.join(",", parts) + "]";
        }
        if (value instanceof Map<?, ?> map) {
            List<String> parts = new ArrayList<>();
            map.forEach((name, part) -> parts.add(json(name) + ":" + json(part)));
            return "{" + String.join(",", parts) + "}";
        }
        var text = new StringBuilder("\"");
        for (char c : value.toString().toCharArray()) {
            text.append(c < ' ' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return text.append('"').toString();
    }
}
