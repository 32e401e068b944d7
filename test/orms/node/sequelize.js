import { DataTypes, QueryTypes, Sequelize } from "sequelize";

const { PGHOST: host, PGPORT: port, PGDATABASE: database, PGUSER: username } = process.env;
const server = { dialect: "postgres", host, port, database, username };
export const sequelize = new Sequelize({ ...server, logging: false });

const Customer = sequelize.define("Customer", {
  email: { type: DataTypes.TEXT, allowNull: false },
}, { tableName: "customer", timestamps: false });

// The right 'enqueue' lets a role read the id alone. A bulkCreate that ignores duplicates would
// give ids to the wrong objects.
const idOnly = (_, options) => {
  options.returning = options.ignoreDuplicates ? false : ["id"];
};

const MailJob = sequelize.define("MailJob", {
  id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
  job_type: { type: DataTypes.TEXT, allowNull: false },
  job_data: DataTypes.JSONB,
  job_key: DataTypes.TEXT,
  scheduled_run_time: DataTypes.DATE,
  priority: DataTypes.SMALLINT,
}, {
  schema: "hipq", tableName: "app_mail", timestamps: false,
  hooks: { beforeCreate: idOnly, beforeBulkCreate: idOnly },
});

export async function signUp(email) {
  return sequelize.transaction(async (transaction) => {
    const job = await MailJob.create(
      { job_type: "welcome", job_key: email, job_data: { to: email } }, { transaction });
    await Customer.create({ email }, { transaction });
    return job.id;
  });
}

export async function invite(emails) {
  const jobs = emails.map((to) => ({ job_type: "invite", job_data: { to }, priority: 10 }));
  return (await MailJob.bulkCreate(jobs)).map((job) => job.id);
}

export async function remind(emails) {
  const jobs = emails.map((to) => ({ job_type: "remind", job_key: to, job_data: { to } }));
  await MailJob.bulkCreate(jobs, { ignoreDuplicates: true });
}

export async function remindAt(email, time) {
  const data = JSON.stringify({ to: email });
  const [{ id }] = await sequelize.query(
    `SELECT hipq.enqueue('remind', :data, queue => 'app.mail', job_key => :email,
                         scheduled_run_time => :time, on_duplicate => 'replace') AS id`,
    { replacements: { data, email, time }, type: QueryTypes.SELECT });
  return id;
}
