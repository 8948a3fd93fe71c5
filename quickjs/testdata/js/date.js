const r = [];
r.push(new Date(0).toISOString(), new Date(2024, 0, 31).getTime(), Date.UTC(2000, 1, 29, 12), new Date('2024-02-30').getTime(), new Date('2024-03-10T02:30:00Z').toString(), new Date('2024-03-10').toUTCString(), new Date(NaN).getTime());
r.push(Date.parse('2011-10-10T14:48:00.000+09:00'), Date.parse('Thu, 01 Jan 1970 00:00:00 GMT+0200'), Date.parse('garbage'), Date.parse('2020-13-01'), new Date(8.64e15).toISOString(), new Date(8.64e15 + 1).getTime(), new Date(-1).toISOString(), new Date('+010000-01-01T00:00:00Z').toISOString());
const d = new Date(Date.UTC(2023, 11, 31, 23, 59, 59, 999)); d.setUTCMilliseconds(1000); r.push(d.toISOString(), d.getUTCDay(), d.getTimezoneOffset(), d.toJSON(), d.getHours() === d.getUTCHours());
d.setMonth(1, 30); r.push(d.toDateString(), d.toTimeString()); d.setFullYear(2020); d.setDate(0); r.push(d.toISOString(), d.valueOf(), +d, d - new Date(0), `${d[Symbol.toPrimitive]('number')}`, typeof (d + 1));
try { new Date(NaN).toISOString(); } catch (e) { r.push(e.name); } r.push(JSON.stringify({ d: new Date(NaN) }), Date.length, typeof Date(), new Date(2019, 12).getMonth(), new Date(99, 0).getFullYear(), new Date(2020, 1, 29).getDate());
const start = new Date(Date.UTC(1999, 0, 1)); const days = []; for (let i = 0; i < 12; i++) { days.push(new Date(Date.UTC(2023, i + 1, 0)).getUTCDate()); } r.push(days, Math.round((Date.UTC(2024, 0, 1) - start) / 864e5));
r.push(new Date(2020, 5, 15, 10, 20, 30).toLocaleDateString === undefined, new Date(1e12).toISOString(), new Date('2024-01-01T00:00').getTime(), new Date('2024').getTime(), new Date('2024-06-01 12:00').getTime(), new Date(Date.UTC(2024, 0)).getUTCFullYear());
r;
