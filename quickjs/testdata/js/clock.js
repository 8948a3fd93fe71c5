[Date.now(), new Date().toISOString(), typeof Math.random(), Math.random() < 1, new Date().getTimezoneOffset()];
