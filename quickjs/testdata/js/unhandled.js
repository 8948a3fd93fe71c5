Promise.reject(new Error('nobody listens'));
const late = Promise.reject('handled later'); late.catch(() => 0);
'value';
