import knex from "knex";

export const db = knex({ client: "pg", connection: {} });

export async function signUp(email) {
  return db.transaction(async (trx) => {
    const [{ id }] = await trx("hipq.app_mail")
      .insert({ job_type: "welcome", job_key: email, job_data: { to: email } })
      .returning("id");
    await trx("customer").insert({ email });
    return id;
  });
}

export async function invite(emails) {
  const jobs = emails.map((to) => ({ job_type: "invite", job_data: { to }, priority: 10 }));
  const rows = await db("hipq.app_mail").insert(jobs).returning("id");
  return rows.map(({ id }) => id);
}

export async function remind(emails) {
  const jobs = emails.map((to) => ({ job_type: "remind", job_key: to, job_data: { to } }));
  const rows = await db("hipq.app_mail").insert(jobs).onConflict().ignore().returning("id");
  return rows.map(({ id }) => id);
}

export async function remindAt(email, time) {
  const { rows: [{ id }] } = await db.raw(
    `SELECT hipq.enqueue('remind', :data, queue => 'app.mail', job_key => :email,
                         scheduled_run_time => :time, on_duplicate => 'replace') AS id`,
    { data: JSON.stringify({ to: email }), email, time });
  return id;
}
