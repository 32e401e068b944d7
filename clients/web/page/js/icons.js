// Icons: lines on a grid of 16 by 16, in the colour of the text beside them.

import { s } from "./dom.js";

const paths = {
  overview: ["M2 13h12", "M3.5 10.5l3-4 2.5 2.5 4-6"],
  queues: ["M2.5 4h11", "M2.5 8h8", "M2.5 12h5"],
  job_types: ["M3 3h4v4H3z", "M9 3h4v4H9z", "M3 9h4v4H3z", "M11 9v4", "M9 11h4"],
  jobs: ["M3 3.5h10v9H3z", "M5.5 6.5h5", "M5.5 9.5h3"],
  graphs: ["M2.5 2.5h4v3h-4z", "M9.5 6.5h4v3h-4z", "M2.5 10.5h4v3h-4z", "M6.5 4c2 0 1 4 3 4", "M6.5 12c2 0 1-4 3-4"],
  workers: ["M2.5 4h11v7h-11z", "M6 13.5h4", "M8 11v2.5"],
  executors: ["M5 5h6v6H5z", "M7 2.5V5M9 2.5V5M7 11v2.5M9 11v2.5M2.5 7H5M2.5 9H5M11 7h2.5M11 9h2.5"],
  dead_letters: ["M2.5 4h11v8.5h-11z", "M2.5 4.5L8 9l5.5-4.5"],
  schedules: ["M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z", "M8 5v3.2l2 1.3"],
  pauses: ["M5.5 3.5v9", "M10.5 3.5v9"],
  alerts: ["M8 2.5L14 13H2z", "M8 6.5v3", "M8 11.2v.1"],
  doctor: ["M8 13.5S2.5 10 2.5 6.3A2.8 2.8 0 0 1 8 5a2.8 2.8 0 0 1 5.5 1.3C13.5 10 8 13.5 8 13.5z", "M5 8h1.7l1-2 1.3 3.4.9-1.4H11"],
  settings: ["M2.5 5h6M11.5 5h2", "M10 3.5v3", "M2.5 11h2M7.5 11h6", "M6 9.5v3"],
  search: ["M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z", "M10.3 10.3l3.2 3.2"],
  menu: ["M2.5 4.5h11", "M2.5 8h11", "M2.5 11.5h11"],
  close: ["M4 4l8 8", "M12 4l-8 8"],
  sun: [
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6z",
    "M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  ],
  moon: ["M13 9.6A5.6 5.6 0 0 1 6.4 3a5.6 5.6 0 1 0 6.6 6.6z"],
  system: ["M2.5 3.5h11v7.5h-11z", "M6 13.5h4"],
  keyboard: ["M1.5 4.5h13v7h-13z", "M4 7h.1M6.6 7h.1M9.3 7h.1M12 7h.1M5 9.5h6"],
  leave: ["M6.5 3H3v10h3.5", "M6.5 8h7", "M11 5.5L13.5 8 11 10.5"],
  check: ["M3.5 8.5l3 3 6-7"],
  minus: ["M4.5 8h7"],
  cross: ["M4.5 4.5l7 7", "M11.5 4.5l-7 7"],
  copy: ["M5.5 5.5h7v7h-7z", "M3.5 10.5v-7h7"],
  more: ["M4 6.5L8 10l4-3.5"],
  retry: ["M12.8 6.5A5 5 0 1 0 13 9", "M13 3.2v3.4H9.6"],
};

export const icon = (name) =>
  s(
    "svg",
    { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
    paths[name].map((d) => s("path", { d })),
  );
