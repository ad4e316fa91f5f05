// Ticks of a linear axis in Unix milliseconds, at round times of the reader's zone. Pure but for the reader's language.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY];

export function timeTicks(since: number, until: number, zone: string, most = 8): number[] {
  const step = STEPS.find((candidate) => (until - since) / candidate <= most) ?? Math.ceil((until - since) / most / DAY) * DAY;
  const ahead = offset(since, zone);
  // Steps of hours and days are the wall clock's: a day on which clocks are set has 23 or 25 hours. Shorter ones are not,
  // since an hour that comes twice has all of them twice.
  const place = step > HOUR ? (clock: number) => instant(clock, zone) : (clock: number) => clock - ahead;
  const ticks = [];
  for (let clock = Math.ceil((since + ahead) / step) * step; place(clock) <= until; clock += step) ticks.push(place(clock));
  return ticks;
}

/** When the zone's clock shows this, or the first time after it where that time of day was left out. */
function instant(clock: number, zone: string): number {
  const near = clock - offset(clock, zone);
  const at = clock - offset(near, zone);
  return at + offset(at, zone) < clock ? near : at;
}

/** Hours within a day or two, days beyond. */
export function timeText(span: number, zone: string): (at: number) => string {
  const options: Intl.DateTimeFormatOptions =
    span <= 2 * DAY ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : { day: "numeric", month: "short" };
  const format = new Intl.DateTimeFormat(undefined, { ...options, timeZone: zone });
  return (at) => format.format(at);
}

/** By how much the zone's clock is ahead of UTC at a time, in milliseconds. */
function offset(at: number, zone: string): number {
  const minute = Math.floor(at / MINUTE) * MINUTE;
  const clock = new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short", timeStyle: "short" }).format(minute);
  return Date.parse(`${clock.replace(" ", "T")}Z`) - minute;
}
