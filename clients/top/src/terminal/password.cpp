// Asks for a password on the terminal.
#include "terminal/password.hpp"

#include <cstdio>
#include <iostream>
#include <termios.h>
#include <unistd.h>

namespace hipq::top {

std::string read_password()
{
    termios before{};
    const bool is_terminal = ::tcgetattr(STDIN_FILENO, &before) == 0;
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    if (is_terminal)
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    std::fputs("Password: ", stderr);
    std::string password;
    std::getline(std::cin, password);
    if (is_terminal)
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fputs("\n", stderr);
    return password;
}

}  // namespace hipq::top
