# Ruby's pg, with the types of results that it knows, and once more with binary results.
require "json"
require "pg"

def shown(value)
  case value
  when nil then "NULL"
  when Time then (value.to_r * 1000).to_i.to_s
  when BigDecimal then value.to_s("F").sub(/\.?0+\z/, "")
  when Hash then JSON.generate(value)
  when Array then value.join(",")
  else value.to_s
  end
end

def outcome(connection, statement, values)
  connection.exec("BEGIN")
  connection.exec_params(statement, values)
  "00000"
rescue PG::Error => error
  error.result.error_field(PG::Result::PG_DIAG_SQLSTATE)
ensure
  connection.exec("ROLLBACK")
end

def example(connection)
  # manual
  data = { to: "ann@example.com" }
  id = connection.exec_params(
    "SELECT hipq.enqueue('external', $1, 'app.drivers', timeout => $2, throttle_factor => $3)",
    [JSON.generate(data), "5 min", 0.5]).getvalue(0, 0)
  as_array = PG::TextEncoder::Array.new
  connection.exec_params("SELECT hipq.complete_attempts($1, $2)",
                         [as_array.encode([id]), as_array.encode([1])])
  # manual
  id
end

connection = PG.connect(dbname: "postgres")
connection.type_map_for_results = PG::BasicTypeMapForResults.new(connection)
File.foreach(ARGV[0], chomp: true) do |line|
  kind, what, *rest = line.split("\t", -1)
  said =
    case kind
    when "read" then connection.exec_params("SELECT * FROM #{what}", []).values.size
    when "call" then outcome(connection, what, rest.map { |value| value == '\N' ? nil : value })
    else shown(connection.exec_params(what, []).getvalue(0, 0))
    end
  puts [kind, what, said].join("\t")
end
connection.exec("BEGIN")
job = connection.exec_params(
  "SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = $1",
  [example(connection)]
).values[0]
puts ["example", *job.map { |value| shown(value) }].join("\t")
connection.exec("ROLLBACK")
