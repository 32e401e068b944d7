# Calls what the manual shows, then what the right 'enqueue' does not allow, and prints the results.
require_relative "jobs"
require "json"

ActiveRecord::Base.establish_connection(ENV.fetch("DATABASE_URL"))

def error_of
  yield
  nil
rescue StandardError => error
  "#{error.class} #{error.cause&.result&.error_field(PG::Result::PG_DIAG_SQLSTATE)}".strip
end

signed_up = sign_up("ann@example.com")
puts JSON.generate(
  signed_up: signed_up,
  refused: error_of { sign_up("nobody") },
  duplicate: error_of { sign_up("ann@example.com") },
  invited: invite((1..100).map { |number| "guest#{number}@example.com" }),
  reminded: [remind(["bob@example.com"]), remind(["bob@example.com", "eve@example.com"])],
  moved: remind_at("bob@example.com", Time.utc(2100, 1, 1)),
  read: error_of { MailJob.find(signed_up) },
  upsert: error_of do
    MailJob::Many.upsert_all(
      [{ job_type: "remind" }], unique_by: %i[job_type job_key], returning: :id
    )
  end
)
