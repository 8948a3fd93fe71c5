let depth = 0; function f() { depth++; return f() + 1; }
let name; try { f(); } catch (e) { name = e.name + ': ' + e.message; } [name, depth > 100];
