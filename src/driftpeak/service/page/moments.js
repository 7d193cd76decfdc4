// Times of a study: numbers, steps, or dates, which are numbers of seconds while they are computed with.
// Dates without a zone are the plant's own, shown as they are; those with one in the reader's zone.

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

  // As the service takes it.
  write(number) {
    if (!this.dates) return String(number);
    const text = new Date(number * 1000).toISOString();
    return this.zoned ? text : text.slice(0, -1);
  }

  // As it is read.
  text(number) {
    if (!this.dates) return plain(number);
    return `${this.day(number)}, ${this.clock(number)}`;
  }

  // In a sentence.
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

// The largest unit of which there are at least two.
export function duration(seconds) {
  const [name, size] = UNITS.find(([, one]) => seconds >= 2 * one) ?? UNITS.at(-1);
  const count = plain(seconds / size);
  return `${count} ${name}${count === "1" ? "" : "s"}`;
}

function plain(number) {
  return String(Number(number.toPrecision(Math.abs(number) >= 1000 ? 6 : 3)));
}
