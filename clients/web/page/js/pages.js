// All pages: the name in the URL, the title, and the letter that opens the page after g.

export const pages = [
  { name: "overview", title: "Overview", key: "o", group: "Watch" },
  { name: "queues", title: "Queues", key: "q", group: "Watch" },
  { name: "job_types", title: "Job types", key: "t", group: "Watch" },
  { name: "jobs", title: "Jobs", key: "j", group: "Watch" },
  { name: "graphs", title: "Graphs", key: "r", group: "Watch" },
  { name: "dead_letters", title: "Dead letters", key: "d", group: "Act" },
  { name: "pauses", title: "Pauses", key: "p", group: "Act" },
  { name: "schedules", title: "Schedules", key: "s", group: "Act" },
  { name: "executors", title: "Executors", key: "e", group: "Run" },
  { name: "workers", title: "Workers", key: "w", group: "Run" },
  { name: "alerts", title: "Alerts", key: "a", group: "Run" },
  { name: "doctor", title: "Doctor", key: "h", group: "Run" },
  { name: "settings", title: "Settings", key: "c", group: "Run" },
];
