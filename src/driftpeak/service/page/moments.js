// Times of a study: numbers, steps, or dates, which are converted to seconds for computations.
// Dates without a zone are shown unchanged; dates with a zone are shown in the browser's zone.

export class Moments {
  constructor(example) {
    this.dates = typeof example === "string";
    this.zoned = this.dates && /(Z|[+-]\d\d:\d\d)$/.test(example);
    this.zone = this.dates && !this.zoned ? "UTC" : undefined;
  }

  number(time) {
    if (!this.dates) return time;
    return Date.parse(this.zoned ? time : `${time}Z`) / 1000;
  }

  // The format that the service accepts.
  write(number) {
    if (!this.dates) return String(number);
    const text = new Date(number * 1000).toISOString();
    return this.zoned ? text : text.slice(0, -1);
  }

  // The format for display.
  text(number) {
    if (!this.dates) return plain(number);
    return `${this.day(number)}, ${this.clock(number)}`;
  }

  // The format for use in a sentence.
  named(number) {
    return this.dates ? this.text(number) : `time ${this.text(number)}`;
  }

  day(number) {
    return this.#format(number, { day: "numeric", month: "short" });
  }

  clock(number) {
    return this.#format(number, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  }

  year(number) {
    return this.#format(number, { year: "numeric" });
  }

  span(length) {
    if (!this.dates) return `${plain(length)} ${length === 1 ? "unit" : "units"} of time`;
    return duration(length);
  }

  #format(number, options) {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: this.zone }).format(number * 1000);
  }
}

const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

// The duration in the largest unit that it contains at least twice.
export function duration(seconds) {
  const [name, size] = UNITS.find(([, one]) => seconds >= 2 * one) ?? UNITS.at(-1);
  const count = plain(seconds / size);
  return `${count} ${name}${count === "1" ? "" : "s"}`;
}

function plain(number) {
  return String(Number(number.toPrecision(Math.abs(number) >= 1000 ? 6 : 3)));
}
