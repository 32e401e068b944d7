// A small line without axes, with the given width: a value over the last minutes.

import { s } from "../dom.js";
import { area, line, runs } from "./scale.js";

export class Spark {
  #path = s("path", { class: "chart-line" });
  #area = s("path", { class: "chart-area" });
  #width;
  #height;

  constructor({ tone, width = 120, height = 28 }) {
    this.#width = width;
    this.#height = height;
    this.element = s(
      "svg",
      {
        class: `spark tone-${tone}`,
        viewBox: `0 0 ${width} ${height}`,
        preserveAspectRatio: "none",
        width,
        height,
        "aria-hidden": "true",
      },
      this.#area,
      this.#path,
    );
  }

  // A short line is stretched: it is drawn as if it covered at least half a minute.
  draw(values, most = 120) {
    const shown = values.slice(-most);
    const points = Math.max(30, shown.length);
    const largest = Math.max(...shown, 0) || 1;
    const parts = runs(
      shown,
      (index) => this.#width - (shown.length - 1 - index) * (this.#width / (points - 1)),
      (value) => this.#height - 1.5 - (value / largest) * (this.#height - 4),
    );
    this.#path.setAttribute("d", parts.map(line).join(""));
    this.#area.setAttribute("d", parts.map((part) => area(part, this.#height)).join(""));
  }
}
