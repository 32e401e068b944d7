// Go's lib/pq: what it does not know by type is bytes.
package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/lib/pq"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var zeros = regexp.MustCompile(`\.?0+$`)

func shown(value interface{}, kind string) string {
	switch value := value.(type) {
	case nil:
		return "NULL"
	case time.Time:
		return fmt.Sprint(value.UnixMilli())
	case []byte:
		text := string(value)
		switch kind {
		case "number":
			return zeros.ReplaceAllString(text, "")
		case "json":
			return strings.ReplaceAll(text, " ", "")
		case "array":
			var items pq.StringArray
			must(items.Scan(value))
			return strings.Join(items, ",")
		}
		return text
	}
	return fmt.Sprint(value)
}

// All rows, each value as the driver gives it.
func all(transaction *sql.Tx, statement string, values ...interface{}) ([][]interface{}, error) {
	rows, err := transaction.Query(statement, values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	must(err)
	var result [][]interface{}
	for rows.Next() {
		row := make([]interface{}, len(columns))
		places := make([]interface{}, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		must(rows.Scan(places...))
		result = append(result, row)
	}
	return result, rows.Err()
}

func outcome(transaction *sql.Tx, statement string, values []string) string {
	given := make([]interface{}, len(values))
	for i, value := range values {
		if value != `\N` {
			given[i] = value
		}
	}
	if _, err := all(transaction, statement, given...); err != nil {
		return string(err.(*pq.Error).Code)
	}
	return "00000"
}

func example(transaction *sql.Tx) int64 {
	// manual
	var id int64
	data := `{"to": "ann@example.com"}`
	must(transaction.QueryRow(
		`SELECT hipq.enqueue('external', $1, 'app.drivers', timeout => $2, throttle_factor => $3)`,
		data, "5 min", 0.5).Scan(&id))
	ids, attempts := []int64{id}, []int64{1}
	_, err := transaction.Exec(`SELECT hipq.complete_attempts($1, $2)`,
		pq.Array(ids), pq.Array(attempts))
	// manual
	must(err)
	return id
}

func main() {
	database, err := sql.Open("postgres", "dbname=postgres sslmode=disable host="+os.Getenv("PGHOST"))
	must(err)
	list, err := os.Open(os.Args[1])
	must(err)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		transaction, err := database.Begin()
		must(err)
		var said string
		switch fields[0] {
		case "read":
			rows, err := all(transaction, "SELECT * FROM "+fields[1])
			must(err)
			said = fmt.Sprint(len(rows))
		case "value":
			rows, err := all(transaction, fields[1])
			must(err)
			said = shown(rows[0][0], fields[2])
		default:
			said = outcome(transaction, fields[1], fields[2:])
		}
		fmt.Println(strings.Join([]string{fields[0], fields[1], said}, "\t"))
		must(transaction.Rollback())
	}
	transaction, err := database.Begin()
	must(err)
	rows, err := all(transaction,
		"SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = $1",
		example(transaction))
	must(err)
	fmt.Println(strings.Join([]string{"example", shown(rows[0][0], ""),
		shown(rows[0][1], "number"), shown(rows[0][2], "json")}, "\t"))
	must(transaction.Rollback())
}
