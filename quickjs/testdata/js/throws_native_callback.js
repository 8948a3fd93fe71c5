[3, 2, 1].map(String).sort((a, b) => { throw new Error('while sorting ' + typeof a); });
