require "active_record"

class Customer < ActiveRecord::Base
  self.table_name = "customer"
end

class MailJob < ActiveRecord::Base
  self.table_name = "hipq.app_mail"
  self.primary_key = "id"

  # From Rails 7.1 on create! reads back what has a function as its default, in place of the id.
  def self._returning_columns_for_insert(*)
    ["id"]
  end

  # For insert_all, which wants the primary key of the table itself. A queue's table has none.
  class Many < MailJob
    self.primary_key = nil
  end
end
