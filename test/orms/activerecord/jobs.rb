require_relative "models"

def sign_up(email)
  ActiveRecord::Base.transaction do
    job = MailJob.create!(job_type: "welcome", job_key: email, job_data: { to: email })
    Customer.create!(email: email)
    job.id
  end
end

def invite(emails)
  jobs = emails.map { |email| { job_type: "invite", job_data: { to: email }, priority: 10 } }
  MailJob::Many.insert_all!(jobs, returning: :id).rows.flatten
end

def remind(emails)
  jobs = emails.map { |email| { job_type: "remind", job_key: email, job_data: { to: email } } }
  MailJob::Many.insert_all(jobs, returning: :id).rows.flatten
end

def remind_at(email, time)
  enqueue = <<~SQL
    SELECT hipq.enqueue('remind', :data, queue => 'app.mail', job_key => :email,
                        scheduled_run_time => :time, on_duplicate => 'replace')
  SQL
  values = { data: { to: email }.to_json, email: email, time: time }
  MailJob.connection.select_value(MailJob.sanitize_sql([enqueue, values]))
end
