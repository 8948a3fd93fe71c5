throw { code: 42, list: [1, 2, { three: 3 }] };
