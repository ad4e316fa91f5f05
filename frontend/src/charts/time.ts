// Ticks of a linear axis in Unix milliseconds, at round local times. Pure but for the time zone of the reader.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY];

export function timeTicks(since: number, until: number, most = 8): number[] {
  const step = STEPS.find((candidate) => (until - since) / candidate <= most) ?? Math.ceil((until - since) / most / DAY) * DAY;
  const shift = new Date(since).getTimezoneOffset() * MINUTE;
  const ticks = [];
  for (let at = Math.ceil((since - shift) / step) * step + shift; at <= until; at += step) ticks.push(at);
  return ticks;
}

/** Hours within a day or two, days beyond. */
export function timeText(span: number): (at: number) => string {
  const options: Intl.DateTimeFormatOptions =
    span <= 2 * DAY ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : { day: "numeric", month: "short" };
  const format = new Intl.DateTimeFormat(undefined, options);
  return (at) => format.format(at);
}
