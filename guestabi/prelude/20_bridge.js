// The bridge. Requests are appended to an outbox, which the host takes when no
// job is left to run; it answers by settling slots. There is no function that
// calls the host.
//
// The outbox holds one message a line: a letter and the rest, in which JSON text
// stands for everything that a cell chose, so that no line break is in it.
// guestabi/wire.go lists the letters.
let outbox = '';
let written = 0; // UTF-16 units of output so far
let overflow = false;

// Each open request has a slot: a number, its text, and the functions of its
// promise. All arrays have their full length before a cell runs, so that to
// write an element never looks at a prototype.
const slots = setup.maxOpen;
const free = new Int32Array(slots);
const slotText = [], resolvers = [], rejecters = [];
for (let i = 0; i < slots; i++) {
  free[i] = slots - 1 - i;
  slotText[i] = i + ',';
  resolvers[i] = rejecters[i] = undefined;
}
let freeSlots = slots;

// request sends a message and gives the promise of its answer.
function request(letter, rest) {
  if (freeSlots === 0) {
    return new GuestPromise((resolve, reject) => {
      reject(errorFrom('Error', 'too many pending tool calls: ' + slots + ' are open; await some before starting more',
        'too_many_pending_tool_calls'));
    });
  }
  const slot = free[--freeSlots];
  outbox += letter + slotText[slot] + rest + '\n';
  opening = slot;
  return new GuestPromise(keep);
}

// keep stores the functions of the promise being made. One function for all
// requests costs less than a closure for each.
let opening = 0;
function keep(resolve, reject) {
  resolvers[opening] = resolve;
  rejecters[opening] = reject;
}

// encode gives JSON text, with null for what JSON has no word for.
function encode(value) {
  const text = jsonStringify(value);
  return text === undefined ? 'null' : text;
}

// A known tool is named by its number in setup.tools.
const toolNumber = { __proto__: null };
for (let i = 0; i < setup.tools.length; i++) toolNumber[setup.tools[i].id] = i + ',';

function call(id, input) {
  const number = typeof id === 'string' ? toolNumber[id] : undefined;
  const text = input === undefined ? '{}' : encode(input);
  if (number !== undefined) return request('c', number + text);
  return request('u', '[' + encode(id) + ',' + text + ']');
}

// output adds an item to the run's output, as long as it is within the cap.
function output(letter, rest) {
  if (overflow) return;
  written += rest.length;
  if (written > setup.maxOutput) {
    overflow = true;
    outbox += 'o\n';
    return;
  }
  outbox += letter + rest + '\n';
}
