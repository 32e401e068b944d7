// JDBC. Types.OTHER is what it calls a parameter without a type.
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import java.util.stream.Collectors;

public class Driver {
    static String shown(Object value, String kind) throws SQLException {
        if (value == null)
            return "NULL";
        if (value instanceof Timestamp)
            return String.valueOf(((Timestamp) value).getTime());
        if (value instanceof Array)
            return Arrays.stream((Object[]) ((Array) value).getArray()).map(String::valueOf)
                .collect(Collectors.joining(","));
        if (value instanceof BigDecimal)
            return ((BigDecimal) value).stripTrailingZeros().toPlainString();
        return kind.equals("json") ? value.toString().replace(" ", "") : value.toString();
    }

    static int read(Connection connection, String relation) throws SQLException {
        String query = "SELECT * FROM " + relation;
        try (ResultSet rows = connection.createStatement().executeQuery(query)) {
            int count = 0;
            for (; rows.next(); count++)
                for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++)
                    rows.getObject(column);
            return count;
        }
    }

    static String value(Connection connection, String statement, String kind) throws SQLException {
        try (ResultSet rows = connection.createStatement().executeQuery(statement)) {
            rows.next();
            return shown(rows.getObject(1), kind);
        }
    }

    static String outcome(Connection connection, String statement, String[] values)
        throws SQLException {
        String query = statement.replaceAll("\\$\\d+", "?");
        try (PreparedStatement call = connection.prepareStatement(query)) {
            for (int place = 0; place < values.length; place++)
                if (values[place].equals("\\N"))
                    call.setNull(place + 1, Types.OTHER);
                else
                    call.setObject(place + 1, values[place], Types.OTHER);
            call.execute();
            return "00000";
        } catch (SQLException error) {
            return error.getSQLState();
        } finally {
            connection.rollback();
        }
    }

    static long example(Connection connection) throws SQLException {
        // manual
        PreparedStatement enqueue = connection.prepareStatement("SELECT hipq.enqueue('external', "
            + "?::jsonb, 'app.drivers', timeout => ?, throttle_factor => ?)");
        enqueue.setString(1, "{\"to\": \"ann@example.com\"}");
        enqueue.setString(2, "5 min");
        enqueue.setDouble(3, 0.5);
        ResultSet row = enqueue.executeQuery();
        row.next();
        Long[] ids = { row.getLong(1) };
        Integer[] attempts = { 1 };
        PreparedStatement complete = connection.prepareStatement(
            "SELECT hipq.complete_attempts(?, ?)");
        complete.setArray(1, connection.createArrayOf("bigint", ids));
        complete.setArray(2, connection.createArrayOf("integer", attempts));
        complete.execute();
        // manual
        return ids[0];
    }

    public static void main(String[] arguments) throws Exception {
        String url = "jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/postgres?user="
            + System.getenv("PGUSER");
        Connection connection = DriverManager.getConnection(url);
        connection.setAutoCommit(false);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] fields = line.split("\t", -1);
            String said = fields[0].equals("read") ? String.valueOf(read(connection, fields[1]))
                : fields[0].equals("value") ? value(connection, fields[1], fields[2])
                : outcome(connection, fields[1], Arrays.copyOfRange(fields, 2, fields.length));
            System.out.println(String.join("\t", fields[0], fields[1], said));
            connection.rollback();
        }
        String job = " FROM hipq.jobs_detail WHERE id = " + example(connection);
        System.out.println(String.join("\t", "example",
            value(connection, "SELECT timeout" + job, ""),
            value(connection, "SELECT throttle_factor" + job, ""),
            value(connection, "SELECT job_data" + job, "json")));
        connection.rollback();
    }
}
