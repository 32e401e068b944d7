// Calls what the manual shows of one ORM, then what the right 'enqueue' does not allow, and prints
// the results.
const orm = process.argv[2];
const jobs = await import(`./${orm}.js`);

const mistakes = {
  sequelize: {
    read: (id) => jobs.sequelize.models.MailJob.findByPk(id),
    upsert: () => jobs.sequelize.models.MailJob
      .upsert({ job_type: "remind", job_key: "bob@example.com" }),
  },
  knex: {
    read: () => jobs.db("hipq.app_mail").select("*"),
    upsert: () => jobs.db("hipq.app_mail")
      .insert({ job_type: "remind", job_key: "bob@example.com" })
      .onConflict(["job_type", "job_key"]).merge(),
  },
  kysely: {
    read: () => jobs.db.selectFrom("hipq.app_mail").selectAll().execute(),
    upsert: () => jobs.db.insertInto("hipq.app_mail")
      .values({ job_type: "remind", job_key: "bob@example.com" })
      .onConflict((conflict) => conflict.columns(["job_type", "job_key"])
        .doUpdateSet({ priority: 1 })).execute(),
  },
}[orm];

async function errorOf(action) {
  try {
    await action();
  } catch (error) {
    return `${error.name} ${(error.original ?? error).code}`;
  }
}

const guests = Array.from({ length: 100 }, (_, index) => `guest${index + 1}@example.com`);
const signedUp = await jobs.signUp("ann@example.com");
console.log(JSON.stringify({
  signed_up: signedUp,
  refused: await errorOf(() => jobs.signUp("nobody")),
  duplicate: await errorOf(() => jobs.signUp("ann@example.com")),
  invited: await jobs.invite(guests),
  reminded: [
    await jobs.remind(["bob@example.com"]),
    await jobs.remind(["bob@example.com", "eve@example.com"]),
  ],
  moved: await jobs.remindAt("bob@example.com", new Date("2100-01-01T00:00:00Z")),
  read: await errorOf(() => mistakes.read(signedUp)),
  upsert: await errorOf(mistakes.upsert),
}));
await (jobs.sequelize?.close() ?? jobs.db.destroy());
