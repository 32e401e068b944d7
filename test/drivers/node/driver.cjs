// node-postgres, as it is: bigint and numeric are strings there.
const { readFileSync } = require("fs");
const { Client } = require("pg");

function shown(value) {
  if (value === null) return "NULL";
  if (value instanceof Date) return String(value.getTime());
  if (Array.isArray(value)) return value.join(",");
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

const number = (value) => (/^-?\d+\.\d+$/.test(value) ? String(Number(value)) : value);

async function outcome(client, statement, values) {
  try {
    await client.query("BEGIN");
    await client.query(statement, values);
    return "00000";
  } catch (error) {
    return error.code;
  } finally {
    await client.query("ROLLBACK");
  }
}

async function example(client) {
  // manual
  const data = { to: "ann@example.com" };
  const { rows } = await client.query(
    `SELECT hipq.enqueue('external', $1, 'app.drivers', timeout => $2,
      throttle_factor => $3) AS id`,
    [data, "5 min", 0.5],
  );
  const ids = [rows[0].id], attempts = [1];
  await client.query("SELECT hipq.complete_attempts($1, $2)", [ids, attempts]);
  // manual
  return rows[0].id;
}

async function main() {
  const client = new Client({ database: "postgres" });
  await client.connect();
  for (const line of readFileSync(process.argv[2], "utf8").trimEnd().split("\n")) {
    const [kind, what, ...rest] = line.split("\t");
    let said;
    if (kind === "read") said = (await client.query(`SELECT * FROM ${what}`)).rows.length;
    else if (kind === "call") {
      const values = rest.map((value) => (value === "\\N" ? null : value));
      said = await outcome(client, what, values);
    } else said = number(shown(Object.values((await client.query(what)).rows[0])[0]));
    console.log([kind, what, said].join("\t"));
  }
  await client.query("BEGIN");
  const id = await example(client);
  const { rows } = await client.query(
    "SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = $1", [id]);
  const values = Object.values(rows[0]).map((value) => number(shown(value)));
  console.log(["example", ...values].join("\t"));
  await client.query("ROLLBACK");
  await client.end();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
