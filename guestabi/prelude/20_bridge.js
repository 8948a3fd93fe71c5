// The bridge. Requests are appended to an outbox, which the host takes when no
// job is left to run; it answers with settlements. There is no function that
// calls the host.
//
// An item of the outbox is a JSON array that starts with one of these numbers;
// guestabi/wire.go holds the same list.
const CALL = 1, SEARCH = 2, DESCRIBE = 3, YIELD = 4, TEXT = 5, JSON_ITEM = 6, CONSOLE = 7, OVERFLOW = 8;

let outbox = '';
let written = 0; // UTF-16 units of output so far
let overflow = false;
let nextRequest = 1;
let openRequests = 0;
const open = { __proto__: null }; // request id -> { resolve, reject }

function append(item) {
  outbox = outbox === '' ? item : outbox + ',' + item;
}

// request opens a call; rest is JSON text for the remaining elements.
function request(kind, rest) {
  return new GuestPromise((resolve, reject) => {
    if (openRequests >= setup.maxOpen) {
      reject(errorFrom('Error', 'too many pending tool calls: ' + setup.maxOpen + ' are open; await some before starting more',
        'too_many_pending_tool_calls'));
      return;
    }
    const id = nextRequest++;
    openRequests++;
    open[id] = { __proto__: null, resolve, reject };
    append('[' + kind + ',' + id + ',' + rest + ']');
  });
}

// encode gives JSON text, with null for what JSON has no word for.
function encode(value) {
  const text = jsonStringify(value);
  return text === undefined ? 'null' : text;
}

function call(id, input) {
  if (typeof id !== 'string') throw new GuestTypeError('tools.call(id, input): id must be a string');
  return request(CALL, jsonStringify(id) + ',' + (input === undefined ? '{}' : encode(input)));
}

// output adds an item to the run's output, as long as it is within the cap.
function output(kind, rest) {
  if (overflow) return;
  written += rest.length;
  if (written > setup.maxOutput) {
    overflow = true;
    append('[' + OVERFLOW + ']');
    return;
  }
  append('[' + kind + ',' + rest + ']');
}
