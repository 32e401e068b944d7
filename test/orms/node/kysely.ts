import { type ColumnType, type GeneratedAlways, Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";

// What a job is given and the right 'enqueue' does not let a role read.
type Given<T> = ColumnType<never, T, never>;

interface Database {
  customer: { id: GeneratedAlways<string>; email: string };
  "hipq.app_mail": {
    id: GeneratedAlways<string>;
    job_type: Given<string>;
    job_data: Given<object | undefined>;
    job_key: Given<string | undefined>;
    scheduled_run_time: Given<Date | undefined>;
    priority: Given<number | undefined>;
  };
}

const pool = new pg.Pool();
export const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });

export async function signUp(email: string) {
  return db.transaction().execute(async (trx) => {
    const { id } = await trx.insertInto("hipq.app_mail")
      .values({ job_type: "welcome", job_key: email, job_data: { to: email } })
      .returning("id")
      .executeTakeFirstOrThrow();
    await trx.insertInto("customer").values({ email }).execute();
    return id;
  });
}

export async function invite(emails: string[]) {
  const jobs = emails.map((to) => ({ job_type: "invite", job_data: { to }, priority: 10 }));
  const rows = await db.insertInto("hipq.app_mail").values(jobs).returning("id").execute();
  return rows.map(({ id }) => id);
}

export async function remind(emails: string[]) {
  const jobs = emails.map((to) => ({ job_type: "remind", job_key: to, job_data: { to } }));
  const rows = await db.insertInto("hipq.app_mail").values(jobs)
    .onConflict((conflict) => conflict.doNothing())
    .returning("id").execute();
  return rows.map(({ id }) => id);
}

export async function remindAt(email: string, time: Date) {
  const data = JSON.stringify({ to: email });
  const enqueue = sql<{ id: string }>`
    SELECT hipq.enqueue('remind', ${data}, queue => 'app.mail', job_key => ${email},
                        scheduled_run_time => ${time}, on_duplicate => 'replace') AS id`;
  const { rows: [job] } = await enqueue.execute(db);
  return job.id;
}
