// The bridge. Requests are appended to an outbox, which the host takes when no
// job is left to run; it answers by settling slots. There is no function that
// calls the host.
//
// The outbox holds one message a line: a letter and the rest, in which JSON text
// stands for everything that a cell chose, so that no line break is in it.
// guestabi/wire.go lists the letters.
let outbox = '';
let written = 0; // UTF-16 units of output so far
let overflows = 0;

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
    return failed(errorFrom('Error', 'too many pending tool calls: ' + slots + ' are open; await some before starting more',
      'too_many_pending_tool_calls'));
  }
  const slot = free[--freeSlots];
  outbox += letter + slotText[slot] + rest + '\n';
  opening = slot;
  return defineProperty(new GuestPromise(keep), 'await', unspread);
}

// unspread is on the promise of each request, since to spread it, { ...promise }, asks for nothing but its own
// properties: the program would go on with an empty object.
const unspread = {
  __proto__: null,
  enumerable: true,
  get: freeze({ notAwaited() { throw new GuestTypeError('a promise was spread, or gone through: await it first, as in { ...(await promise) }'); } }.notAwaited),
};

// keep stores the functions of the promise being made. One function for all
// requests costs less than a closure for each.
let opening = 0;
function keep(resolve, reject) {
  resolvers[opening] = resolve;
  rejecters[opening] = reject;
}

// failed gives a promise that is rejected.
function failed(error) {
  return new GuestPromise((_, reject) => { reject(error); });
}

// A known tool is named by its number in setup.tools.
const toolNumber = { __proto__: null };
for (let i = 0; i < setup.tools.length; i++) toolNumber[setup.tools[i].id] = i;

function call(id, input) {
  const number = typeof id === 'string' ? toolNumber[id] : undefined;
  if (number !== undefined) return callNumber(number, input);
  try {
    return request('u', '[' + encode(id) + ',' + inputText(input) + ']');
  } catch (error) {
    return failed(about(error, 'tools.call(id, input)'));
  }
}

// callNumber calls a known tool. An input that has no JSON form is a rejected promise, as all that goes wrong with a
// call is.
function callNumber(number, input) {
  if (input === undefined) return request('c', number + ',{}');
  let text;
  try {
    text = encode(input);
  } catch (error) {
    return failed(about(error, 'input of ' + setup.tools[number].id));
  }
  return request('c', number + ',' + text);
}

function inputText(input) { return input === undefined ? '{}' : encode(input); }

// output adds an item to the run's output. Over the cap the program ends: the host reads the message, and the error
// keeps the program from going on to its end first.
function output(letter, rest) {
  written += rest.length;
  if (written <= setup.maxOutput) {
    outbox += letter + rest + '\n';
    return;
  }
  if (overflows++ === 0) outbox += 'o\n';
  // Whoever catches this for ever waits for his deadline here, where the engine looks at it: then the message is read.
  if (overflows > 1000) for (;;);
  throw errorFrom('RangeError', 'the output is larger than ' + setup.maxOutput + ' bytes', 'output_limit_exceeded');
}
